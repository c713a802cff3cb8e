// The laws of the ledger on random machines: counters with wraps, resets, rubbish and gaps on random trees of components.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/property/random_machine.h"

namespace joulery {
namespace {

using namespace random_tree;

RC_GTEST_PROP(Conservation, RowsSumToTheTotal, ()) {
  const RandomMachine machine = random_machine();
  const Timeline timeline = timeline_of(machine);
  const Ledger ledger(timeline, std::nullopt, Fill::none, {});
  const Total total = ledger.total(machine.run);
  Energy sum;
  bool any = false;
  for (const Row& row : ledger.rows()) {
    if (row.overlap) continue;
    if (const Span span = ledger.energy(row, machine.run); span.energy) sum += span.energy->value, any = true;
  }
  RC_ASSERT(any == total.energy.has_value());
  if (total.energy) RC_ASSERT(total.energy->value == sum);
  RC_ASSERT(ledger.counted(machine.run) == sum);
}

RC_GTEST_PROP(Conservation, NeighbouringIntervalsSumToTheirUnion, ()) {
  const RandomMachine machine = random_machine();
  const Timeline timeline = timeline_of(machine);
  const Ledger ledger(timeline, std::nullopt, Fill::none, {});
  Energy sum;
  MonoTime at = machine.run.begin;
  while (at < machine.run.end) {
    const MonoTime next = std::min(machine.run.end, at + nanoseconds(*rc::gen::inRange<std::int64_t>(1, 700'000'000)));
    sum += ledger.counted({at, next});
    at = next;
  }
  RC_ASSERT(sum == ledger.counted(machine.run));
}

RC_GTEST_PROP(Conservation, EnergyNeverFallsAndLiesInItsInterval, ()) {
  const RandomMachine machine = random_machine();
  const Timeline timeline = timeline_of(machine);
  for (const EnergySource& source : timeline.sources) {
    MonoTime at{origin};
    Energy before = source.track.position(at);
    for (int i = 0; i < 50; ++i) {
      at = at + milliseconds(137);
      const Energy now = source.track.position(at);
      RC_ASSERT(now >= before);
      before = now;
    }
    const Span span = source.track.energy(machine.run);
    if (span.energy) RC_ASSERT(span.energy->low <= span.energy->value && span.energy->value <= span.energy->high);
    RC_ASSERT(span.energy.has_value() == (span.quality != Quality::missing));
  }
}

// The walk from left to right finds what looking at every window by itself finds, but for the rounding to microjoules.
RC_GTEST_PROP(Conservation, PeaksAreTheGreatestMeansOfAllWindows, ()) {
  const RandomMachine machine = random_machine();
  const Timeline timeline = timeline_of(machine);
  const Ledger ledger(timeline, std::nullopt, Fill::none, {});
  const Duration window = std::min(milliseconds(*rc::gen::inRange(2, 2000)), machine.run.length());
  RC_PRE(window >= milliseconds(1));
  const Peaks peaks = ledger.peaks(machine.run, window);
  RC_ASSERT(peaks.rows.size() == ledger.rows().size());
  RC_PRE(peaks.total.has_value());
  const Duration step = nanoseconds(window.base_units() / 2);
  double greatest = -1e300;
  for (MonoTime at = machine.run.begin; at + step + step <= machine.run.end; at = at + step)
    greatest = std::max(greatest, to_joules(ledger.counted({at, at + step + step})));
  RC_ASSERT(std::abs(to_watts(*peaks.total) * to_seconds(step + step) - greatest) < 3e-5);
}

// No more than the component can burn is ever counted where that is known.
RC_GTEST_PROP(Conservation, NothingBurnsMoreThanItCan, ()) {
  const RandomMachine machine = random_machine();
  const Timeline timeline = timeline_of(machine);
  for (const EnergySource& source : timeline.sources) {
    if (source.channel.behaviour != Behaviour::counter || to_watts(source.channel.max_power) <= 0 || source.track.empty()) continue;
    const Interval whole = source.track.covered();
    const double counted = to_joules(source.track.position(whole.end) - source.track.position(whole.begin));
    const double readings = static_cast<double>(machine.readings.front().size() + 40);
    // Each reading may be late by the slack of 2 ms and a count.
    RC_ASSERT(counted <=
              to_watts(source.channel.max_power) * (to_seconds(whole.length()) + readings * 0.002) + readings * source.channel.unit + 1e-6);
  }
}

}  // namespace
}  // namespace joulery
