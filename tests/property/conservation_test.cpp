// The laws of the ledger on random machines: counters with wraps, resets, rubbish and gaps on random trees of components.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "ledger/ledger.h"
#include "record/memory_recording.h"

namespace joulery {
namespace {

constexpr std::int64_t origin = 5'000'000'000'000;

struct RandomMachine {
  std::vector<RecordedDevice> devices;
  std::vector<std::vector<Reading>> readings;
  Interval run;
};

Channel random_channel(const std::string& path) {
  Channel channel;
  channel.component = Component(path);
  channel.name = "energy";
  const bool counter = *rc::gen::inRange(0, 4) != 0;
  channel.behaviour = counter ? Behaviour::counter : Behaviour::gauge;
  channel.measurand = counter ? Measurand::energy : Measurand::power;
  channel.unit = counter ? *rc::gen::element(1e-6, 1e-3, 15.3e-6, 61e-6) : 1e-3;
  if (counter && *rc::gen::inRange(0, 2))
    channel.range = *rc::gen::element<std::uint64_t>(1'000'000, 262'143'328'850, UINT64_C(0xffffffff));
  if (*rc::gen::inRange(0, 3)) channel.max_power = watts(*rc::gen::element(1.0, 100.0, 1000.0));
  channel.accuracy.relative = 0.05;
  channel.always_burns = *rc::gen::inRange(0, 2);
  return channel;
}

// Mostly a counter that goes on; now and then a fault.
std::vector<Reading> random_readings(const Channel& channel, int count) {
  std::vector<Reading> readings;
  std::uint64_t value = *rc::gen::inRange<std::uint64_t>(0, 1'000'000'000);
  std::int64_t t = origin;
  for (int i = 0; i < count; ++i) {
    t += *rc::gen::inRange<std::int64_t>(1, 400) * 1'000'000;
    value += *rc::gen::inRange<std::uint64_t>(0, 5'000'000);
    if (channel.range) value %= channel.range + 1;
    const int fault = *rc::gen::inRange(0, 12);
    if (fault == 0)
      readings.push_back({0, MissingReason::io_error, {t}, {t}});
    else if (fault == 1)
      readings.push_back({static_cast<std::int64_t>(*rc::gen::arbitrary<std::uint32_t>()), MissingReason::none, {t}, {t}});
    else if (fault == 2)
      value = 0, readings.push_back({0, MissingReason::none, {t}, {t}});
    else
      readings.push_back({static_cast<std::int64_t>(value), MissingReason::none, {t}, {t}});
  }
  return readings;
}

RandomMachine random_machine() {
  static const std::vector<std::string> paths{
      "node",       "node/cpu/package-0", "node/cpu/package-0/core", "node/cpu/package-1", "node/dram/package-0",
      "node/gpu/0", "node/gpu/1",         "node/platform",           "node/board/fan"};
  RandomMachine machine;
  const int count = *rc::gen::inRange(1, 8);
  for (int d = 0; d < count; ++d) {
    const Channel channel = random_channel(*rc::gen::elementOf(paths));
    machine.devices.push_back({"meter" + std::to_string(d % 3), std::to_string(d), milliseconds(100), {channel}});
    machine.readings.push_back(random_readings(channel, *rc::gen::inRange(0, 40)));
    if (channel.component.path() == "node/platform") machine.devices.back().channels[0].scope = Scope::platform;
  }
  const std::int64_t begin = origin + *rc::gen::inRange<std::int64_t>(0, 3'000'000'000);
  machine.run = {{begin}, {begin + *rc::gen::inRange<std::int64_t>(1, 6'000'000'000)}};
  return machine;
}

Timeline timeline_of(const RandomMachine& machine) {
  MemoryRecording recording(machine.devices);
  for (std::size_t d = 0; d < machine.readings.size(); ++d)
    for (const Reading& reading : machine.readings[d]) recording.add(Round{d, reading.before, std::span(&reading, 1)});
  recording.set({{"run_begin_ns", std::to_string(machine.run.begin.ns)}, {"run_end_ns", std::to_string(machine.run.end.ns)}});
  return *Timeline::from(recording, 1);
}

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
