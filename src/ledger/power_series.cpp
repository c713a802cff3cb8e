#include "ledger/power_series.h"

#include <algorithm>
#include <limits>

namespace joulery {
namespace {

void add_track(const Track& track, double sign, const Grid& grid, Duration shift, std::vector<double>& watts) {
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  Track::Walk walk(track, grid.edge(0) + shift);
  double before = walk.joules(grid.edge(0) + shift);
  const Interval covered = track.covered();
  for (std::size_t i = 0; i < grid.count; ++i) {
    const Interval slot{grid.edge(i) + shift, grid.edge(i + 1) + shift};
    const double now = walk.joules(slot.end);
    const bool known = covered.begin <= slot.begin && slot.end <= covered.end;
    watts[i] += known ? sign * (now - before) / to_seconds(grid.step) : unknown;
    before = now;
  }
  for (const Gap& gap : track.gaps()) {
    if (!gap.energy_lost) continue;
    const std::int64_t first = (gap.when.begin - shift - grid.begin).base_units() / grid.step.base_units();
    const std::int64_t last = (gap.when.end - shift - grid.begin).base_units() / grid.step.base_units();
    for (std::int64_t i = std::max<std::int64_t>(0, first); i <= last && i < static_cast<std::int64_t>(grid.count); ++i)
      watts[static_cast<std::size_t>(i)] = unknown;
  }
}

}  // namespace

Grid grid_over(Interval when, Duration step, std::size_t most) {
  if (when.empty() || step <= Duration{} || most == 0) return {when.begin, std::max(step, nanoseconds(1)), 0};
  const std::int64_t length = when.length().base_units();
  const std::int64_t count = std::min(length / step.base_units(), static_cast<std::int64_t>(most));
  if (count == 0) return {when.begin, step, 0};
  return {when.begin, nanoseconds(length / count), static_cast<std::size_t>(count)};
}

std::vector<double> power_series(std::span<const Row* const> rows, const Grid& grid, Duration shift) {
  std::vector<double> watts(grid.count);
  if (grid.count == 0) return watts;
  for (const Row* row : rows) {
    add_track(*row->track, 1, grid, shift, watts);
    for (const Track* feed : row->plus) add_track(*feed, 1, grid, shift, watts);
    for (const Track* part : row->minus) add_track(*part, -1, grid, shift, watts);
  }
  return watts;
}

Duration reading_interval(std::span<const Row* const> rows) {
  Duration longest;
  for (const Row* row : rows) {
    longest = std::max(longest, row->track->typical_step());
    for (const Track* feed : row->plus) longest = std::max(longest, feed->typical_step());
  }
  return longest;
}

}  // namespace joulery
