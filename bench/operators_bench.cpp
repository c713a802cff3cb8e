// Solving for the power of operators on many synthetic GPUs: how near, how often the intervals hold, and how near anybody could come.
//   operators_bench WORLDS [KEY=VALUE...]
// KEY: first (seed), step, echo, seconds, late, drift (1 = double), tick, window, told (window), calls, streams, delay (searched for within), kinds.
// Prints one JSON object. Seeds are those that no tuning has seen, where `first` does not say otherwise.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "ledger/operators/mixes.h"
#include "ledger/operators/regression.h"
#include "tests/unit/ledger/synthetic_gpu.h"

namespace joulery {
namespace {

// What the readings can tell of each kind, whoever solves: of all unbiased estimators none has a smaller variance than that of generalised
// least squares with the true noise (Cramér and Rao, Gauss and Markov). With independent errors that is noise² (X'X)^-1.
struct Bound {
  int kinds = 0, reachable = 0;  // reachable: the 90 % interval is ±5 % at most
  double expected = 0;  // how many come within 5 %, on average over the noise
  int unbiased = 0;  // how many plain least squares brings within 5 %, merging nothing
};

void add_bound(Bound& bound, const SyntheticGpu& gpu, const Mixes& mixes, double noise) {
  const Regression exact = regress_known(mixes.shares, mixes.kinds + 1, mixes.watts, noise);
  for (std::size_t k = 0; k < mixes.kinds && !exact.value.empty(); ++k) {
    if (mixes.seconds[k] < 0.03 * to_seconds(gpu.question.when.length())) continue;
    const double deviation = std::sqrt(exact.covariance[k * (mixes.kinds + 1) + k]), five = 0.05 * gpu.watts[k];
    ++bound.kinds, bound.reachable += 1.6449 * deviation <= five;
    bound.expected += std::erf(five / deviation / std::sqrt(2.0));
    bound.unbiased += std::abs(exact.value[k] - gpu.watts[k]) <= five;
  }
}

class Options {
 public:
  Options(int count, char** words) {
    for (int i = 2; i < count; ++i) {
      const std::string word = words[i];
      const auto equals = word.find('=');
      if (equals != std::string::npos) values_[word.substr(0, equals)] = std::atof(word.c_str() + equals + 1);
    }
  }
  void set(const char* key, double& value) const {
    if (const auto found = values_.find(key); found != values_.end()) value = found->second;
  }
  double get(const char* key, double otherwise) const { return set(key, otherwise), otherwise; }

 private:
  std::map<std::string, double> values_;
};

SyntheticWorld world_by(const Options& options, std::uint64_t seed) {
  SyntheticWorld world = world_of(seed);
  options.set("step", world.step_seconds), options.set("echo", world.echo), options.set("seconds", world.seconds);
  options.set("late", world.late_seconds), options.set("drift", world.drift), options.set("tick", world.tick_seconds);
  options.set("window", world.window_seconds), options.set("told", world.told_window_seconds);
  world.kinds = static_cast<std::size_t>(options.get("kinds", static_cast<double>(world.kinds)));
  world.most_calls = static_cast<int>(options.get("calls", world.most_calls));
  world.two_streams = options.get("streams", 1) > 1;
  return world;
}

int play(int worlds, const Options& options) {
  SyntheticScore score;
  Bound bound;
  double slowest = 0, all = 0;
  const auto first = static_cast<std::uint64_t>(options.get("first", static_cast<double>(judged_from)));
  for (std::uint64_t seed = first; seed < first + static_cast<std::uint64_t>(worlds); ++seed) {
    const SyntheticWorld world = world_by(options, seed);
    SyntheticGpu gpu = make_synthetic_gpu(world, 1000 + seed);
    gpu.question.most_delay = nanoseconds(static_cast<std::int64_t>(options.get("delay", 0) * 1e9));
    const auto begin = std::chrono::steady_clock::now();
    const OperatorPowers powers = solve_operators(gpu.question);
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    slowest = std::max(slowest, took), all += took;
    add_score(score, gpu, powers);
    if (world.echo == 0 && world.told_window_seconds == 0 && world.late_seconds == 0 && world.drift == 0)
      add_bound(bound, gpu, mixes_of(world.kinds, gpu.question.activities, gpu.question.readings, gpu.question.when, {}, false),
                world.noise_watts);
  }
  const auto percent = [](double part, int whole) { return whole > 0 ? 100.0 * part / whole : -1; };
  std::printf("{\"worlds\": %d, \"groups\": %d, \"groups_within\": %.2f, \"groups_covered\": %.2f, \"groups_worst\": %.1f,\n", worlds,
              score.groups, percent(score.within, score.groups), percent(score.covered, score.groups), 100 * score.worst);
  std::printf(" \"kinds\": %d, \"alone\": %.2f, \"alone_within\": %.2f, \"kinds_within\": %.2f, \"kinds_covered\": %.2f,\n", score.kinds,
              percent(score.alone, score.kinds), percent(score.alone_within, score.alone), percent(score.kinds_within, score.kinds),
              percent(score.kinds_covered, score.kinds));
  std::printf(" \"kinds_by_group\": %.2f, \"unusual\": %d, \"unusual_covered\": %.2f, \"warned\": %.2f,\n",
              percent(score.kinds_by_group, score.kinds), score.unusual, percent(score.unusual_covered, score.unusual),
              percent(score.warned, worlds));
  std::printf(" \"bound_reachable\": %.2f, \"bound_expected\": %.2f, \"unbiased_within\": %.2f,\n", percent(bound.reachable, bound.kinds),
              percent(bound.expected, bound.kinds), percent(bound.unbiased, bound.kinds));
  std::printf(" \"mean_ms\": %.1f, \"slowest_ms\": %.1f}\n", 1e3 * all / std::max(1, worlds), 1e3 * slowest);
  return 0;
}

}  // namespace
}  // namespace joulery

int main(int count, char** words) { return joulery::play(count > 1 ? std::atoi(words[1]) : 300, joulery::Options(count, words)); }
