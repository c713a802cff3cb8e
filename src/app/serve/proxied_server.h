// A server watched by the requests that go through our proxy.
#pragma once

#include <cstdio>
#include <deque>
#include <memory>

#include "app/serve/live_slots.h"
#include "app/serve/request_proxy.h"
#include "app/serve/watched_server.h"

namespace joulery {

class ProxiedServer final : public WatchedServer {
 public:
  // `log`: a file for a JSON line a request; "" for none.
  ProxiedServer(ListenAddress address, Upstream upstream, std::string log)
      : listen_(address), upstream_(std::move(upstream)), log_path_(std::move(log)) {}
  ~ProxiedServer() override;

  Result<void> open() override;
  std::optional<MonoTime> first(ServeSession& session) override;
  MonoTime next() const override { return next_; }
  void look(ServeSession& session) override;
  MonoTime finish(ServeSession& session) override;
  ServedSoFar so_far() const override { return so_far_; }
  Result<ServingReport> report(const LoadedRun& run, std::optional<double> pue) override;

 private:
  void take_ended(ServeSession& session);
  void settle(bool all);
  void write_line(const ProxiedRequest& request, const SharedJoules* share);

  ListenAddress listen_;
  Upstream upstream_;
  std::string log_path_;
  std::FILE* log_ = nullptr;
  std::unique_ptr<RequestProxy> proxy_;
  std::unique_ptr<LiveSlots> slots_;
  std::vector<ServedRequest> requests_;     // that were work
  std::deque<ProxiedRequest> unsettled_;    // work whose joules are not in the log yet
  std::deque<ServedRequest> recent_;        // work of the last minutes, for those that it shared its time with
  std::size_t failures_ = 0;
  std::string last_trouble_;
  ServedSoFar so_far_;
  MonoTime next_;
};

}  // namespace joulery
