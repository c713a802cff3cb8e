#include "ledger/ranks.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace joulery {
namespace {

struct Arrival {
  MonoTime at, latest;  // `latest`: it goes on then at the latest, whoever is missing
};

class Arrivals {
 public:
  Arrivals(std::span<const Step> steps, std::span<const Mark> points) : steps_(steps) {
    for (const Mark& point : points)
      if (point.name == collective_point) marked_[point.pid].push_back(point.time);
  }

  Arrival of(const Rank& rank, std::size_t round) const {
    const Interval step = steps_[rank.steps[round]].when;
    if (const auto marked = marked_.find(rank.pid); marked != marked_.end()) {
      const auto after = std::ranges::upper_bound(marked->second, step.end);
      if (after != marked->second.begin() && *std::prev(after) >= step.begin) return {*std::prev(after), step.end};
    }
    const MonoTime next = round + 1 < rank.steps.size() ? steps_[rank.steps[round + 1]].when.begin : step.end;
    return {step.end, std::max(step.end, next)};
  }

 private:
  std::span<const Step> steps_;
  std::map<std::int32_t, std::vector<MonoTime>> marked_;
};

void add_round(std::vector<Rank>& ranks, const std::vector<Arrival>& arrivals) {
  const auto last = std::ranges::max_element(arrivals, {}, &Arrival::at) - arrivals.begin();
  const MonoTime all_there = arrivals[static_cast<std::size_t>(last)].at;
  Duration sum;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const Duration waited = std::max(Duration{}, std::min(all_there, arrivals[r].latest) - arrivals[r].at);
    ranks[r].waited += waited;
    sum += waited;
  }
  ranks[static_cast<std::size_t>(last)].waited_for += sum;
  ++ranks[static_cast<std::size_t>(last)].last;
}

}  // namespace

Ranks ranks_of(std::span<const Step> steps, std::span<const Mark> points) {
  std::map<std::int32_t, Rank> by_pid;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    Rank& rank = by_pid[steps[i].pid];
    rank.steps.push_back(i);
    rank.work += steps[i].work;
  }
  Ranks all;
  if (by_pid.size() < 2) return all;
  for (auto& [pid, rank] : by_pid) {
    rank.pid = pid;
    for (const Mark& point : points)
      if (point.pid == pid && point.name == rank_point && point.value >= 0 && point.value < 1e9) rank.number = std::llround(point.value);
    all.ranks.push_back(std::move(rank));
  }
  std::ranges::stable_sort(all.ranks, {}, [](const Rank& rank) { return std::tuple(!rank.number, rank.number.value_or(0), rank.pid); });
  std::size_t rounds = all.ranks.front().steps.size();
  for (const Rank& rank : all.ranks) rounds = std::min(rounds, rank.steps.size());
  all.rounds = static_cast<std::int64_t>(rounds);
  const Arrivals arrivals(steps, points);
  for (std::size_t round = 0; round < rounds; ++round) {
    std::vector<Arrival> those;
    for (const Rank& rank : all.ranks) those.push_back(arrivals.of(rank, round));
    add_round(all.ranks, those);
  }
  return all;
}

}  // namespace joulery
