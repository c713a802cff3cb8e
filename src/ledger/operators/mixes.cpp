#include "ledger/operators/mixes.h"

#include <algorithm>

namespace joulery {
namespace {

double overlap_seconds(Interval a, Interval b) {
  const std::int64_t ns = std::min(a.end.ns, b.end.ns) - std::max(a.begin.ns, b.begin.ns);
  return ns > 0 ? static_cast<double>(ns) * 1e-9 : 0;
}

// The time in which anything ran, as disjoint intervals by begin.
std::vector<Interval> busy_time(std::span<const Activity> activities) {
  std::vector<Interval> busy;
  for (const Activity& activity : activities) {
    if (activity.when.empty()) continue;
    if (!busy.empty() && activity.when.begin <= busy.back().end)
      busy.back().end = std::max(busy.back().end, activity.when.end);
    else
      busy.push_back(activity.when);
  }
  return busy;
}

// Calls take(reading, seconds) for every reading whose window meets `when`. `first` is moved past windows that ended before.
template <class Take>
void over_windows(std::span<const PowerReading> readings, Interval when, std::size_t& first, Duration longest, const Take& take) {
  while (first < readings.size() && readings[first].when.end <= when.begin) ++first;
  for (std::size_t i = first; i < readings.size() && readings[i].when.end - longest < when.end; ++i) {
    const double seconds = overlap_seconds(readings[i].when, when);
    if (seconds > 0) take(i, seconds);
  }
}

std::vector<PowerReading> shifted_within(std::span<const PowerReading> readings, Interval when, Delay delay) {
  std::vector<PowerReading> kept;
  kept.reserve(readings.size());
  for (PowerReading reading : readings) {
    if (reading.when.begin < when.begin + delay.most || reading.when.end + delay.most > when.end || reading.when.empty()) continue;
    reading.when = {reading.when.begin - delay.late, reading.when.end - delay.late};
    kept.push_back(reading);
  }
  return kept;
}

void add_seconds(Mixes& mixes, std::span<const Activity> activities, std::span<const Interval> busy, Interval when) {
  double sum = 0;
  for (const Activity& activity : activities) {
    const double seconds = overlap_seconds(activity.when, when);
    mixes.seconds[activity.kind] += seconds * activity.amount;
    sum += seconds;
  }
  for (const Interval& piece : busy) mixes.busy_seconds += overlap_seconds(piece, when);
  mixes.gap_seconds = std::max(0.0, to_seconds(when.length()) - mixes.busy_seconds);
  mixes.overlapping = sum > 1.01 * mixes.busy_seconds;
}

}  // namespace

Mixes mixes_of(std::size_t kinds, std::span<const Activity> activities, std::span<const PowerReading> all, Interval when, Delay delay,
               bool force_static) {
  const std::vector<PowerReading> readings = shifted_within(all, when, delay);
  const std::size_t width = kinds + 1;
  Mixes mixes{kinds, std::vector<double>(readings.size() * width), {}, std::vector<double>(width)};
  const std::vector<Interval> busy = busy_time(activities);
  add_seconds(mixes, activities, busy, when);
  mixes.overlapping = mixes.overlapping || force_static;
  mixes.seconds[kinds] = mixes.overlapping ? to_seconds(when.length()) : mixes.gap_seconds;

  Duration longest;
  for (const PowerReading& reading : readings) longest = std::max(longest, reading.when.length());
  std::size_t first = 0;
  for (const Activity& activity : activities)
    over_windows(readings, activity.when, first, longest,
                 [&](std::size_t i, double seconds) { mixes.shares[i * width + activity.kind] += seconds * activity.amount; });
  first = 0;
  std::vector<double> covered(readings.size());
  for (const Interval& piece : busy)
    over_windows(readings, piece, first, longest, [&](std::size_t i, double seconds) { covered[i] += seconds; });

  mixes.watts.reserve(readings.size());
  for (std::size_t i = 0; i < readings.size(); ++i) {
    const double length = to_seconds(readings[i].when.length());
    for (std::size_t k = 0; k < kinds; ++k) mixes.shares[i * width + k] /= length;
    mixes.shares[i * width + kinds] = mixes.overlapping ? 1 : std::max(0.0, 1 - covered[i] / length);
    mixes.watts.push_back(readings[i].watts);
  }
  return mixes;
}

}  // namespace joulery
