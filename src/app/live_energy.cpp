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
  if (now <= last || now == MonoTime{INT64_MAX}) return {sum_, std::nullopt};
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
  add(ledger, when, energy && whole);
  if (!energy || !whole) sum_.reset();
  if (sum_) sum_ = *sum_ + *energy;
  return {sum_, energy && whole ? std::optional(*energy / when.length()) : std::nullopt};
}

void LiveEnergy::add(const Ledger& ledger, Interval when, bool whole) {
  const Total total = ledger.total(when);
  known_.until = when.end;
  known_.partial = known_.partial || total.partial;
  known_.holes += whole ? 0 : 1;
  known_.power.reset();
  known_.missing.clear();
  for (const Row& row : ledger.rows())
    if (!row.overlap && !row.track) known_.missing.push_back(row.component.path() + ": " + row.reason);
  if (!total.energy) return;
  // The errors of one meter add from call to call. Those of where the borders fall would cancel: what is told is rather too wide.
  const Estimate before = known_.energy.value_or(Estimate{});
  known_.energy = Estimate{before.value + total.energy->value, before.low + total.energy->low, before.high + total.energy->high};
  known_.quality = worst(known_.quality, total.quality);
  known_.power = total.energy->value / when.length();
}

}  // namespace joulery
