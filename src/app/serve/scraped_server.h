// A server watched by its metrics.
#pragma once

#include "app/serve/server_scraper.h"
#include "app/serve/watched_server.h"

namespace joulery {

class ScrapedServer final : public WatchedServer {
 public:
  // `requests`: a log of the server's own, by which the energy is shared in the end; "" for none.
  ScrapedServer(ServerChoice choice, std::string requests) : choice_(std::move(choice)), requests_(std::move(requests)) {}

  Result<void> open() override;
  std::optional<MonoTime> first(ServeSession& session) override;
  MonoTime next() const override { return next_; }
  void look(ServeSession& session) override;
  MonoTime finish(ServeSession& session) override;
  ServedSoFar so_far() const override { return so_far_; }
  Result<ServingReport> report(const LoadedRun& run, std::optional<double> pue) override;

 private:
  std::optional<MonoTime> take(ServeSession& session);
  void add_work(const CountedWindow& window, ServeSession& session);

  ServerChoice choice_;
  std::string requests_, url_;
  Duration interval_;
  std::optional<ServerScraper> scraper_;
  CountFollower follower_;
  CountedServing counted_;
  std::string server_;
  ServedSoFar so_far_;
  MonoTime next_, last_good_;
};

}  // namespace joulery
