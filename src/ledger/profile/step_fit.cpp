#include "ledger/profile/step_fit.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <vector>

namespace joulery {
namespace {

constexpr std::int64_t least_error_ns = 20'000;      // a mark's own time, and the call that placed it
constexpr std::size_t most_steps = 4096;             // of the trace, that are compared
constexpr double clear_margin = 3;                   // how much worse the next best place must fit

struct Spread {
  std::int64_t middle = 0, width = 0;                // median, and the distance that 90 % keep to it
};

Spread spread_of(std::vector<std::int64_t>& differences) {
  const std::size_t middle = differences.size() / 2;
  std::ranges::nth_element(differences, differences.begin() + static_cast<std::ptrdiff_t>(middle));
  const std::int64_t median = differences[middle];
  for (std::int64_t& difference : differences) difference = std::abs(difference - median);
  const std::size_t most = (differences.size() - 1) * 9 / 10;
  std::ranges::nth_element(differences, differences.begin() + static_cast<std::ptrdiff_t>(most));
  return {median, differences[most]};
}

// Of pairs of steps, by begins or ends, whichever keep the more constant distance.
Spread better_spread(std::vector<std::int64_t>& begins, std::vector<std::int64_t>& ends) {
  const Spread a = spread_of(begins), b = spread_of(ends);
  return b.width < a.width ? b : a;
}

std::optional<StepFit> fit_near(std::span<const ProfileStep> trace, std::span<const Step> recorded, std::int64_t about) {
  std::vector<std::int64_t> begins, ends;
  for (const ProfileStep& step : trace) {
    const auto middle = [](std::int64_t begin, std::int64_t end) { return begin + (end - begin) / 2; };
    const std::int64_t wanted = middle(step.begin, step.end) + about;
    auto next = std::ranges::lower_bound(recorded, wanted, {}, [&](const Step& s) { return middle(s.when.begin.ns, s.when.end.ns); });
    const Step* nearest = nullptr;
    for (auto candidate : {next == recorded.begin() ? next : next - 1, next}) {
      if (candidate == recorded.end()) continue;
      const auto distance = [&](const Step& s) { return std::abs(middle(s.when.begin.ns, s.when.end.ns) - wanted); };
      if (!nearest || distance(*candidate) < distance(*nearest)) nearest = &*candidate;
    }
    // The same step overlaps itself by more than half.
    const std::int64_t shared = std::min(nearest->when.end.ns, step.end + about) - std::max(nearest->when.begin.ns, step.begin + about);
    if (2 * shared < std::max(step.end - step.begin, nearest->when.length().base_units())) continue;
    begins.push_back(nearest->when.begin.ns - step.begin);
    ends.push_back(nearest->when.end.ns - step.end);
  }
  if (begins.size() < 2) return std::nullopt;
  const int pairs = static_cast<int>(begins.size());
  const Spread spread = better_spread(begins, ends);
  return StepFit{spread.middle, nanoseconds(std::max(least_error_ns, spread.width)), pairs};
}

std::optional<StepFit> fit_anywhere(std::span<const ProfileStep> trace, std::span<const Step> recorded) {
  if (trace.size() < 4 || recorded.size() < trace.size()) return std::nullopt;
  std::optional<Spread> best;
  std::int64_t second = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> begins(trace.size()), ends(trace.size());
  for (std::size_t place = 0; place + trace.size() <= recorded.size(); ++place) {
    for (std::size_t i = 0; i < trace.size(); ++i) {
      begins[i] = recorded[place + i].when.begin.ns - trace[i].begin;
      ends[i] = recorded[place + i].when.end.ns - trace[i].end;
    }
    const Spread spread = better_spread(begins, ends);
    if (!best || spread.width < best->width) {
      if (best) second = best->width;
      best = spread;
    } else {
      second = std::min(second, spread.width);
    }
  }
  const std::int64_t width = std::max(least_error_ns, best->width);
  if (static_cast<double>(second) < clear_margin * static_cast<double>(width)) return std::nullopt;
  return StepFit{best->middle, nanoseconds(width), static_cast<int>(trace.size())};
}

}  // namespace

std::optional<StepFit> fit_steps(std::span<const ProfileStep> trace, std::span<const Step> recorded, std::optional<std::int64_t> about) {
  if (trace.empty() || recorded.empty()) return std::nullopt;
  trace = trace.first(std::min(trace.size(), most_steps));
  return about ? fit_near(trace, recorded, *about) : fit_anywhere(trace, recorded);
}

}  // namespace joulery
