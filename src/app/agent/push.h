// Sends a node's figures to engines that hold those of a whole fleet: one queue on disk and one thread for each target
// [agent.push.NAME]. What is offered is encoded at the target's interval and on its way to the disk before offer() returns;
// whether, when and how it reaches the target is the thread's business and never delays the agent.
//
// Invariant: each target gets the moments in their order; a moment that was offered is sent, queued, or counted as dropped.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "app/agent/push_sender.h"
#include "app/agent/push_target.h"
#include "ledger/node_account.h"
#include "publish/gone_series.h"
#include "publish/node_metrics.h"
#include "publish/otlp.h"

namespace joulery {

// Who sends. `host_name` becomes the label `instance` where the target's labels do not say otherwise.
struct PushIdentity {
  std::string host_name, host_id, version;
  WallTime start;  // when the account began
};

// One target: its queue, its thread.
class Pusher {
 public:
  // `folder`: of its queue. Errors: those of FrameQueue::open(); unsupported, without libcurl.
  static Result<std::unique_ptr<Pusher>> start(PushTarget target, const PushIdentity& identity, std::string folder);
  ~Pusher();  // sends what it can within two seconds; the rest stays queued

  // True where the target's interval is over.
  bool due(MonoTime now) const { return now >= next_; }
  void offer(const NodeAccount& account, std::span<const MetricFamily> families, MonoTime now, WallTime at);
  const PushTarget& target() const { return target_; }
  PushCounters counters() const { return sender_->counters(); }
  QueueState queue() const { return queue_->state(); }

 private:
  Pusher(PushTarget target, const PushIdentity& identity, std::unique_ptr<FrameQueue> queue, HttpClient client);
  void run(const std::stop_token& stop);
  bool wait(const std::stop_token& stop, std::optional<Duration> pause);
  Answer<HttpReply> send(const HttpCall& request, Duration limit);

  PushTarget target_;
  ExternalLabels labels_;
  OtlpResource resource_;
  GoneSeries gone_;
  WallTime start_;
  std::unique_ptr<FrameQueue> queue_;
  HttpClient client_;                   // of the thread
  std::unique_ptr<PushSender> sender_;
  MonoTime next_{};
  std::mutex mutex_;
  std::condition_variable_any wake_;
  bool more_ = true;                    // guarded by mutex_: something was added since the thread looked
  std::atomic<std::int64_t> last_ns_ = 0;  // the end of its time once the thread shall stop
  std::jthread thread_;
};

// All targets that are configured; none is no error.
class PushService {
 public:
  // `folder`: below it a queue for each target, FOLDER/NAME. Errors: those of read_push_targets() and Pusher::start().
  static Result<std::unique_ptr<PushService>> start(const Settings& settings, const PushIdentity& identity, const std::string& folder,
                                                    std::vector<std::string>& warnings);

  // Whether a target wants what offer() gives. `last`: the agent ends, and all targets are due.
  bool due(MonoTime now, bool last = false) const;
  // To all that are due.
  void offer(const NodeAccount& account, MonoTime now, WallTime at, bool last = false);
  // What push itself has done, for /metrics.
  std::vector<MetricFamily> metrics() const;
  // For the log: what has begun to trouble a target and what is over since the last call, a line each.
  std::vector<std::string> news();

 private:
  explicit PushService(std::string version) : metrics_({.version = std::move(version)}) {}
  NodeMetrics metrics_;
  std::vector<std::unique_ptr<Pusher>> pushers_;
  std::vector<std::string> told_;  // beside pushers_: the trouble that news() told last
};

}  // namespace joulery
