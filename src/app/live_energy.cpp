#include "app/live_energy.h"

#include <algorithm>

#include "ledger/timeline.h"

namespace joulery {

std::size_t LiveEnergy::rounds_for(Duration interval) {
  constexpr Duration between_calls = milliseconds(2500);  // a second, and as much again where the machine is busy
  return static_cast<std::size_t>(std::clamp<std::int64_t>(between_calls.base_units() / interval.base_units(), 16, 4096));
}

LiveEnergy::Told LiveEnergy::since(MonoTime begin, const LiveWindow& window) {
  const MonoTime now = window.complete_until(), last = until_.value_or(begin);
  if (now <= last) return {sum_, std::nullopt};
  const Interval when{last, now};
  const auto timeline = Timeline::from(window.recording(when), threads_);
  if (!timeline) return {};
  const Ledger ledger(*timeline, model_, fill_, missing_);
  std::optional<Energy> energy;
  bool whole = true;
  for (const Row& row : ledger.rows()) {
    if (row.overlap || !row.track) continue;
    const Span span = ledger.energy(row, when);
    if (span.energy) energy = energy.value_or(Energy{}) + span.energy->value;
    whole = whole && span.energy && !span.partial;
  }
  until_ = now;
  if (!energy || !whole) sum_.reset();
  if (sum_) sum_ = *sum_ + *energy;
  return {sum_, energy && whole ? std::optional(*energy / when.length()) : std::nullopt};
}

}  // namespace joulery
