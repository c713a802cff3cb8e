// The model servers that an agent watches: a thread each looks at its metrics, and the agent's loop adds the node's energy over
// the same windows.
//
// Invariant: a server that is slow or away delays nobody, and is said once when it goes and once when it comes back.
#pragma once

#include <condition_variable>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "app/serve/server_scraper.h"
#include "config/settings.h"
#include "core/result.h"
#include "ledger/node_account.h"
#include "ledger/serving/server_account.h"
#include "watch/serving/count_follower.h"

namespace joulery {

class ServerWatch {
 public:
  // All of [servers.NAME]; no thread where there is none. Errors: usage; those of ServerScraper::open.
  static Result<std::unique_ptr<ServerWatch>> start(const Settings& settings, std::vector<std::string>& warnings);
  ~ServerWatch();

  // What the node has burnt up to `end`, that of the last tick. By the agent's loop.
  void tick(MonoTime end, std::span<const ComponentAccount> components);
  std::vector<ServerAccount> accounts() const;
  std::vector<std::string> news();  // since the last call
  bool empty() const { return servers_.empty(); }

 private:
  struct Server {
    explicit Server(ServerScraper opened) : scraper(std::move(opened)) {}
    ServerScraper scraper;          // by its thread alone, as the follower
    CountFollower follower;
    std::deque<CountedWindow> waiting;  // whose energy is not known yet; under the mutex, as all below
    std::deque<std::pair<CountedWindow, Energy>> recent;
    ServerAccount account;
    std::thread thread;
  };
  // Energy of the node so far, at the end of a tick; `whole`: all components told theirs.
  struct Point {
    MonoTime at;
    Energy sum;
    bool whole;
  };
  ServerWatch() = default;
  void run(Server& server);
  void take(Server& server, Answer<ServerScraper::Look> look);
  void settle(Server& server);
  std::optional<Energy> energy_of(Interval when) const;
  static void book(Server& server, const CountedWindow& window, Energy energy);

  std::list<Server> servers_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::deque<Point> points_;
  std::vector<std::string> news_;
};

}  // namespace joulery
