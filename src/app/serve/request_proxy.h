// The proxy of `joulery serve-watch`: one thread that passes requests to the server behind and answers back, as they come, and
// times each. docs/decisions/0020 says why it is our own.
//
// Invariant: what it keeps of a request are times, counts and names, never a header or a body: no key or prompt gets into a
// log or a recording.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "app/agent/listen_address.h"
#include "app/serve/proxy_connection.h"
#include "core/result.h"

namespace joulery {

class RequestProxy final : public ProxyEvents {
 public:
  static constexpr std::size_t most_connections = 1024;

  // `upstream` must outlive it. Errors: those of ListenAddress::open.
  static Result<std::unique_ptr<RequestProxy>> start(const ListenAddress& address, const Upstream& upstream);
  ~RequestProxy() override;
  // Hangs up on all; what was in work is told of as broken off.
  void stop();

  const std::string& address() const { return address_; }   // with the real port where 0 was asked for
  std::vector<ProxiedRequest> take_ended();                  // since the last call
  int in_work() const { return in_work_; }
  // Above idle, just now; below 0: not known. For what is told at once.
  void set_active_power(double watts) { active_watts_ = watts; }

 private:
  RequestProxy(int listener, std::string address, const Upstream& upstream);
  void began(MonoTime at) override;
  std::string joules_since(double begun) override;
  double meter() override;
  void ended(ProxiedRequest request, bool was_work) override;
  void run();
  void accept_clients(MonoTime now);
  void advance_meter(MonoTime now);

  int listener_, wake_;
  std::string address_;
  const Upstream& upstream_;
  std::list<ProxyConnection> connections_;   // by the thread alone, as what follows
  MonoTime deaf_until_, metered_;
  double joules_each_ = 0;                   // of one request in work all the time, power shared equally
  bool meter_known_ = false;
  std::atomic<int> in_work_ = 0;
  std::atomic<double> active_watts_ = -1;
  std::atomic<bool> stopping_ = false;
  std::mutex mutex_;                         // over ended_
  std::vector<ProxiedRequest> ended_;
  std::thread thread_;
};

}  // namespace joulery
