#include "judge/meter_delay.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "ledger/power_series.h"

namespace joulery {
namespace {

constexpr std::size_t most_compared = 4096;       // steps: enough for any delay, cheap on a run of days
constexpr std::size_t most_steps = 2'000'000;
constexpr Duration enough_time = milliseconds(400'000);
constexpr Duration longest_delay = milliseconds(20'000);

double variance(std::span<const double> series) {
  double count = 0, sum = 0, squares = 0;
  for (const double w : series)
    if (std::isfinite(w)) ++count, sum += w, squares += w * w;
  return count > 1 ? squares / count - sum / count * (sum / count) : 0;
}

// Where the `most_compared` steps begin in which the series changes most.
std::size_t liveliest(const std::vector<double>& series) {
  std::size_t best = 0;
  double most = -1;
  for (std::size_t i = 0; i + most_compared <= series.size(); i += most_compared / 2) {
    const double here = variance(std::span(series).subspan(i, most_compared));
    if (here > most) most = here, best = i;
  }
  return best;
}

}  // namespace

DelayEstimate meter_delay(std::span<const Row* const> reference, const Row& meter, Interval run) {
  const Row* const one[] = {&meter};
  const Duration own = reading_interval(one), theirs = reading_interval(reference);
  // Steps so long that those compared reach over enough time for a delay of seconds, also where readings are dense.
  const Duration even = nanoseconds(std::min(run.length(), enough_time).base_units() / static_cast<std::int64_t>(most_compared));
  const Duration step = std::max(std::max(milliseconds(1), even), std::min(own, theirs));
  const Grid grid = grid_over(run, step, most_steps);
  const std::vector<double> x = power_series(reference, grid, {}), y = power_series(one, grid, {});
  const std::size_t from = x.size() > most_compared ? liveliest(x) : 0;
  const std::size_t count = std::min(most_compared, x.size() - from);
  const Duration compared = nanoseconds(grid.step.base_units() * static_cast<std::int64_t>(count));
  const Duration most = std::min(longest_delay, nanoseconds(compared.base_units() / 5));
  return find_delay(std::span(x).subspan(from, count), std::span(y).subspan(from, count), grid.step, most, std::max(own, theirs));
}

}  // namespace joulery
