#include "ledger/sample_energy.h"

#include <algorithm>
#include <cmath>

#include "ledger/power_series.h"
#include "ledger/split.h"

namespace joulery {
namespace {

constexpr Duration shortest_slot = milliseconds(100);  // the kernel counts busy time in ticks of up to 10 ms
constexpr std::size_t most_slots = 100'000;

std::vector<double> host_watts(const Ledger& ledger, const Grid& grid) {
  std::vector<const Row*> rows;
  for (const Row& row : ledger.rows())
    if (!row.overlap && row.track != nullptr && !row.component.path().starts_with("node/gpu")) rows.push_back(&row);
  return power_series(rows, grid, Duration{});
}

double busy_at(const CpuActivity& cpu, MonoTime t) {
  const auto next = static_cast<std::size_t>(std::ranges::upper_bound(*cpu.times, t) - cpu.times->begin());
  if (next == 0) return cpu.busy_seconds.front();
  if (next == cpu.times->size()) return cpu.busy_seconds.back();
  const MonoTime a = (*cpu.times)[next - 1], b = (*cpu.times)[next];
  return std::lerp(cpu.busy_seconds[next - 1], cpu.busy_seconds[next], (t - a) / (b - a));
}

}  // namespace

std::vector<Energy> share_by_sample(const SampledRun& run, Energy energy, const Timeline& timeline, const Ledger& ledger, Power idle) {
  const Grid grid = grid_over(timeline.run, std::max(shortest_slot, timeline.interval), most_slots);
  std::vector<double> weights(run.stacks.size()), joules_per_sample(grid.count + 1, 1.0);
  const auto slot_of = [&](MonoTime t) {
    if (grid.count == 0) return std::size_t{0};
    const auto slot = (t - grid.begin).base_units() / grid.step.base_units();
    return static_cast<std::size_t>(std::clamp<std::int64_t>(slot, 0, static_cast<std::int64_t>(grid.count) - 1));
  };
  std::vector<double> samples(grid.count + 1);
  for (const StackSample& sample : run.samples) ++samples[slot_of(sample.time)];
  const std::vector<double> watts = host_watts(ledger, grid);
  for (std::size_t i = 0; i < grid.count && i < watts.size(); ++i) {
    const double above = std::max(0.0, std::isnan(watts[i]) ? 0.0 : watts[i] - to_watts(idle)) * to_seconds(grid.step);
    const double sampled = samples[i] * to_seconds(run.period);
    const double busy = timeline.cpu && !timeline.cpu->busy_seconds.empty()
                            ? std::max(sampled, busy_at(*timeline.cpu, grid.edge(i + 1)) - busy_at(*timeline.cpu, grid.edge(i)))
                            : sampled;
    joules_per_sample[i] = busy > 0 ? above * to_seconds(run.period) / busy : 0;
  }
  double sum = 0;
  for (const StackSample& sample : run.samples) sum += weights[sample.stack] += joules_per_sample[slot_of(sample.time)];
  if (!(sum > 0))
    for (const StackSample& sample : run.samples) weights[sample.stack] += 1;
  return split(energy, weights);
}

}  // namespace joulery
