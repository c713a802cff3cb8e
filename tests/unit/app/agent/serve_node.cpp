// serve_node [--listen ADDRESS]... [--cert FILE --key FILE] [--token-env NAME] [--host NAME]... [--tick MILLISECONDS]
//
// The agent's real HTTP server on a node that is made up: the sample account, growing tick by tick; a store that knows one
// series. Prints its addresses, one a line, then "ready"; ends when its standard input does, and then prints "stopped".
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

#include "app/agent/serve.h"
#include "tests/unit/publish/sample_account.h"

namespace {

using namespace joulery;

// Knows joulery_component_watts of one component: 0.25 W more at every step, and nothing at every fifth.
class FakeHistory : public HistorySource {
 public:
  Result<std::vector<HistorySeries>> query(const HistoryQuery& query) override {
    if (query.series != "joulery_component_watts")
      return fail(ErrorCode::not_found, "no series of this name was stored", query.series, "joulery_component_watts is");
    const auto wanted = query.labels.find("component");
    if (wanted != query.labels.end() && wanted->second != "node/cpu/package-0") return std::vector<HistorySeries>();
    HistorySeries series{{{"component", "node/cpu/package-0"}}, {}, ""};
    int n = 0;
    for (WallTime at = query.from; at < query.to; at = at + query.step, ++n)
      series.points.push_back({at, n % 5 == 4 ? std::nullopt : std::optional(20 + 0.25 * n)});
    return std::vector{series};
  }
};

std::vector<MeterState> sample_meters() {
  return {{{"rapl.powercap", "package-0", true, true, "", ""}, {"node/cpu/package-0", "node/dram/package-0"}, milliseconds(400)},
          {{"nvidia.nvml", "", false, false, "no driver is loaded", "sudo apt install nvidia-driver"}, {}, std::nullopt}};
}

// One more second: the first process uses 12.345678 J of the package, idle the rest.
void grow(NodeAccount& account) {
  account.now = account.now + milliseconds(1000);
  account.components[0].energy[Quality::measured] += microjoules(20'000'001);
  for (ConsumerAccount& consumer : account.consumers) {
    const bool first = consumer.name == "python[4711]" || consumer.name == "c0ffee" || consumer.name == "ada";
    if (first) consumer.energy[0] += microjoules(12'345'678);
    if (consumer.kind == ConsumerKind::idle) consumer.energy[0] += microjoules(7'654'323);
  }
}

bool read_options(int count, char** values, ServeOptions& options, int& tick_ms) {
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string name = values[i], value = values[i + 1];
    if (name == "--listen")
      options.listen.push_back(value);
    else if (name == "--cert")
      options.certificate = value;
    else if (name == "--key")
      options.key = value;
    else if (name == "--token-env")
      options.token = Secret(std::getenv(value.c_str()) ? std::getenv(value.c_str()) : "");
    else if (name == "--host")
      options.hosts.push_back(value);
    else if (name == "--tick")
      tick_ms = std::atoi(value.c_str());
    else
      return false;
  }
  return true;
}

}  // namespace

int main(int count, char** values) {
  ServeOptions options;
  options.version = "1.2.3";
  int tick_ms = 1000;
  if (!read_options(count, values, options, tick_ms)) return 2;
  std::mutex mutex;
  NodeAccount account = sample_account();
  LatestNode node([&](NodeAccount& into) {
    const std::lock_guard lock(mutex);
    into = account;
  });
  FakeHistory history;
  node.set(sample_meters());
  auto server = AgentServer::start(std::move(options), node, &history);
  if (!server) {
    fmt::print(stderr, "{}\n", server.error().line());
    return 1;
  }
  for (const std::string& address : (*server)->addresses()) fmt::print("{}\n", address);
  fmt::print("ready\n");
  std::fflush(stdout);
  for (int ticks = 1;; ++ticks) {
    pollfd end{STDIN_FILENO, POLLIN, 0};
    if (::poll(&end, 1, tick_ms) > 0) break;
    {
      const std::lock_guard lock(mutex);
      grow(account);
    }
    node.tick();
    node.set(AgentHealth{milliseconds(1000 * ticks),
                         milliseconds(1000),
                         ticks,
                         0,
                         {{"store", true, ""}, {"push/central", false, "the target does not answer since 12 s"}}});
    (*server)->tick();
  }
  (*server)->stop();
  fmt::print("stopped\n");
  return 0;
}
