// A random machine: counters with wraps, resets, rubbish and gaps, and gauges, on a random tree of components.
#pragma once

#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "ledger/ledger.h"
#include "record/memory_recording.h"

namespace joulery::random_tree {

inline constexpr std::int64_t origin = 5'000'000'000'000;

struct RandomMachine {
  std::vector<RecordedDevice> devices;
  std::vector<std::vector<Reading>> readings;
  Interval run;
};

inline Channel random_channel(const std::string& path) {
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
inline std::vector<Reading> random_readings(const Channel& channel, int count) {
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

inline RandomMachine random_machine() {
  static const std::vector<std::string> paths{"node",
                                              "node/cpu/package-0",
                                              "node/cpu/package-0/core",
                                              "node/cpu/package-1",
                                              "node/dram/package-0",
                                              "node/gpu/0",
                                              "node/gpu/1",
                                              "node/platform",
                                              "node/board/fan",
                                              "wall",
                                              "wall/A",
                                              "wall/B"};
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

inline Timeline timeline_of(const RandomMachine& machine) {
  MemoryRecording recording(machine.devices);
  for (std::size_t d = 0; d < machine.readings.size(); ++d)
    for (const Reading& reading : machine.readings[d]) recording.add(Round{d, reading.before, std::span(&reading, 1)});
  recording.set({{"run_begin_ns", std::to_string(machine.run.begin.ns)}, {"run_end_ns", std::to_string(machine.run.end.ns)}});
  return *Timeline::from(recording, 1);
}

}  // namespace joulery::random_tree
