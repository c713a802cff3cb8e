#include "app/export_samples.h"

#include <algorithm>

namespace joulery {
namespace {

std::string why(const Row& row, Interval slot) {
  if (!row.track) return row.reason;
  for (const Gap& gap : row.track->gaps())
    if (gap.energy_lost && !intersect(gap.when, slot).empty()) return gap.reason;
  return "not read in this interval";
}

SampleRow sample_of(const LoadedRun& run, const Row& row, Interval slot) {
  const Interval whole = run.interval();
  SampleRow sample;
  sample.time = run.begin() + (slot.end - whole.begin);
  sample.elapsed = slot.end - whole.begin;
  sample.component = row.component.path();
  sample.quality = row.quality;
  sample.meter = row.meter;
  const Span now = run.ledger().energy(row, slot), since = run.ledger().energy(row, {whole.begin, slot.end});
  if (now.energy && !now.partial)
    sample.watts = to_watts(now.energy->value / slot.length());
  else
    sample.reason = why(row, slot);
  if (since.energy) sample.joules = since.energy->value;
  sample.partial = since.partial;
  if (!since.energy) sample.quality = Quality::missing;
  return sample;
}

}  // namespace

void for_each_sample(const LoadedRun& run, const std::function<bool(const SampleRow&)>& take) {
  const Interval whole = run.interval();
  const Duration step = std::max(run.sampling_interval(), milliseconds(1));
  for (MonoTime at = whole.begin; at < whole.end; at = at + step)
    for (const Row& row : run.ledger().rows())
      if (!take(sample_of(run, row, {at, std::min(at + step, whole.end)}))) return;
}

}  // namespace joulery
