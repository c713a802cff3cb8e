// Sends what waits in a queue to one target, batch by batch, in order: what the target has is done, what it cannot take now
// comes again after a pause, what it refuses for what it says is dropped, counted and told.
//
//   2xx             it has the batch
//   429, 5xx, none  later: after Retry-After, else after 1 s that doubles with each failure up to the longest pause, less up to
//                   half of it by chance, so that a fleet does not come back as one
//   401 403 404     and others that speak of access and place, not of the data: later, too. A token that ran out must not cost
//                   an hour of figures.
//   413             smaller batches
//   400 and others  the batch is sent again frame by frame, and only the frames that are refused by themselves are dropped: a
//                   batch that was taken but not acknowledged in time holds frames that some engines refuse to take twice.
//
// A connection is kept only while there is more to send: an engine has a greatest number of them (Prometheus: 512), which a
// fleet of nodes that each keep one would use up.
//
// Invariant: a frame leaves the queue only after its target took or refused it. Used by one thread; counters() by any.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <string>

#include "app/agent/push_target.h"
#include "core/time.h"
#include "record/queue/frame_queue.h"

namespace joulery {

struct PushCounters {
  std::uint64_t sent_samples = 0, sent_requests = 0;
  std::map<std::string, std::uint64_t> failed_requests;  // by reason: "timeout", "unreachable", "503"
  std::map<std::string, std::uint64_t> dropped_samples;  // "out_of_order", "refused", "rejected", "other_kind"
  std::optional<WallTime> last_sent;
  std::string trouble;                                   // the last one, until something was sent: "it answers HTTP 503"
};

// What the queue's frames hold: how many samples in which format, and their bytes.
std::string pack_samples(PushKind kind, std::size_t samples, std::string_view bytes);
std::uint64_t samples_in(std::string_view payload);

class PushSender {
 public:
  using Transport = std::function<Answer<HttpReply>(const HttpCall&, Duration limit)>;
  PushSender(const PushTarget& target, FrameQueue& queue, Transport transport, std::uint64_t seed);

  // Sends one batch. Gives how long to wait before the next step: zero where there may be more; nothing where all was sent.
  std::optional<Duration> step();
  PushCounters counters() const;

 private:
  struct Batch {
    std::string body;
    std::uint64_t last = 0, samples = 0;
    std::size_t frames = 0;
    bool all = false;  // most likely nothing is left after it
  };
  Batch next_batch();
  Duration sent(const Batch& batch, const HttpReply& answer);
  Duration failed(const std::string& reason, std::string what, std::optional<Duration> wanted = std::nullopt);
  Duration refused(const Batch& batch, const HttpReply& answer);
  void drop(const std::string& reason, std::uint64_t samples, const std::string& what);

  const PushTarget& target_;
  FrameQueue& queue_;
  Transport transport_;
  std::minstd_rand chance_;
  std::size_t most_bytes_;
  std::size_t one_by_one_ = 0;    // so many frames are sent alone, after their batch was refused
  Duration pause_{};
  mutable std::mutex mutex_;      // guards counters_
  PushCounters counters_;
};

// Retry-After: seconds, or a date (RFC 9110) counted from `now`. Nothing for anything else.
std::optional<Duration> parse_retry_after(std::string_view text, WallTime now);

// Of an answer to OTLP: how many points were not taken (ExportMetricsServiceResponse.partial_success.rejected_data_points).
std::uint64_t rejected_points(std::string_view protobuf);

}  // namespace joulery
