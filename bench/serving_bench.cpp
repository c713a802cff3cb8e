// How near requests' joules are, and how often their 90 % intervals hold the truth, on many simulated servers.
// serving_bench FIRST_SEED COUNT: the seeds to draw with.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "tests/unit/ledger/serving/batching_server.h"

namespace {

using joulery::simulated::Costs;
using joulery::simulated::Load;

struct Server {
  const char* name;
  Costs costs;
  Load load;
  joulery::ServingFacts facts;
};

template <class Change>
Server server(const char* name, const Change& change) {
  Server one{name, {}, {}, {}};
  change(one);
  return one;
}

std::vector<Server> servers() {
  return {
      server("as it is: 300 s, 6 requests a second, meter of 100 ms, steps that differ by 3 %", [](Server&) {}),
      server("steps all cost the same", [](Server& s) { s.costs.jitter = 0; }),
      server("steps that differ by 10 %", [](Server& s) { s.costs.jitter = 0.1; }),
      server("a meter with 1 J of noise", [](Server& s) { s.costs.meter_noise_j = 1; }),
      server("a meter with 5 J of noise", [](Server& s) { s.costs.meter_noise_j = 5; }),
      server("a meter of 500 ms, 1 J of noise", [](Server& s) { s.costs.meter_noise_j = 1, s.load.slot_s = 0.5; }),
      server("a meter of 1 s, 3 J of noise, 600 s", [](Server& s) { s.costs.meter_noise_j = 3, s.load.slot_s = 1, s.load.seconds = 600; }),
      server("steps of 6 J each, 3 requests a second", [](Server& s) { s.costs.step_j = 6, s.load.requests_a_second = 3; }),
      server("1 request a second", [](Server& s) { s.load.requests_a_second = 1; }),
      server("60 s", [](Server& s) { s.load.seconds = 60; }),
      server("requests queue; idle power known",
             [](Server& s) {
               s.load.requests_a_second = 14, s.load.most_batch = 24, s.load.seconds = 240;
               s.facts.idle_accelerator_watts = 0, s.facts.idle_host_watts = 90;
             }),
      server("a prompt's token costs a 400th of an answer's", [](Server& s) { s.costs.prefill_j = 0.002; }),
      server("a prompt's token costs as much as 0.6 of an answer's", [](Server& s) { s.costs.prefill_j = 0.5; }),
  };
}

struct Tally {
  double held = 0, count = 0;
};

// Runs one server with each seed and prints its line; gives the share of intervals that held.
double judge(const Server& server, unsigned first, unsigned count) {
  std::map<std::string, Tally> kinds;
  double worst = 0;
  for (unsigned seed = first; seed < first + count; ++seed) {
    const auto run = joulery::simulated::simulate(server.costs, server.load, seed);
    const auto shares = joulery::share_serving(run.slots, joulery::uses_of(run.requests, joulery::simulated::clocks()), server.facts);
    std::map<std::string, std::pair<double, double>> sums;
    for (std::size_t i = 0; i < run.requests.size(); ++i) {
      const joulery::Estimate& told = shares.uses[i].total;
      const bool holds = joulery::to_joules(told.low) <= run.truth[i] && run.truth[i] <= joulery::to_joules(told.high);
      for (const std::string& kind : {run.requests[i].group, std::string("all")}) kinds[kind].held += holds ? 1 : 0, kinds[kind].count += 1;
      auto& [share, truth] = sums[run.requests[i].group];
      share += joulery::to_joules(told.value), truth += run.truth[i];
    }
    for (const auto& [kind, sum] : sums) worst = std::max(worst, std::abs(sum.first / sum.second - 1));
  }
  const auto percent = [&](const char* kind) { return 100 * kinds[kind].held / kinds[kind].count; };
  std::printf("| %s | %.0f | %.1f %% | %.1f | %.1f | %.1f | %.1f %% |\n", server.name, kinds["all"].count, percent("all"), percent("chat"),
              percent("summary"), percent("code"), 100 * worst);
  return percent("all");
}

}  // namespace

int main(int count, char** words) {
  const auto number = [&](int i, unsigned otherwise) { return count > i ? static_cast<unsigned>(std::atoi(words[i])) : otherwise; };
  double sum = 0;
  const auto all = servers();
  std::puts("| server | requests | 90 % intervals hold | chat | summary | code | worst kind of request |\n|---|---|---|---|---|---|---|");
  for (const Server& server : all) sum += judge(server, number(1, 7000), number(2, 10));
  std::printf("mean over the servers: %.1f %%\n", sum / static_cast<double>(all.size()));
}
