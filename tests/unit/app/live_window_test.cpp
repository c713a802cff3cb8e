#include "app/live_window.h"

#include <gtest/gtest.h>

namespace joulery {
namespace {

RecordedDevice device_of(Behaviour behaviour, double wrap_seconds) {
  RecordedDevice device;
  device.interval = milliseconds(1);
  Channel channel;
  channel.component = Component("node/cpu/package-0");
  channel.behaviour = behaviour;
  channel.unit = 1e-6;
  if (behaviour == Behaviour::gauge) channel.measurand = Measurand::power;
  channel.max_power = watts(100);
  channel.range = static_cast<std::uint64_t>(wrap_seconds * 100 / channel.unit);
  device.channels.push_back(channel);
  return device;
}

// Rounds each millisecond for `rounds` milliseconds; returns how many the window kept.
std::size_t kept_of(const RecordedDevice& device, int rounds, Duration spacing) {
  LiveWindow window({device}, 2500, spacing);
  for (int i = 0; i < rounds; ++i) {
    const MonoTime at{1'000'000'000 + i * 1'000'000};
    const Reading reading{i, MissingReason::none, at, at};
    window.take({0, at, {&reading, 1}});
  }
  const MonoTime begin{1'000'000'000};
  const MemoryRecording recording = window.recording({begin, begin + milliseconds(rounds)});
  return recording.series(0)->before.size();
}

// 100 rounds, one each 20 ms: 0, 20, 40, 60 and 80 ms.
TEST(LiveWindow, ADeviceThatCountsIsKeptNoOftenerThanNeeded) {
  EXPECT_EQ(kept_of(device_of(Behaviour::counter, 60), 100, milliseconds(20)), 5U);
}

TEST(LiveWindow, WithoutASpacingEveryRoundIsKept) { EXPECT_EQ(kept_of(device_of(Behaviour::counter, 60), 100, {}), 100U); }

// What a gauge shows between two rounds that are kept would be lost.
TEST(LiveWindow, EveryRoundOfAGaugeIsKept) { EXPECT_EQ(kept_of(device_of(Behaviour::gauge, 60), 100, milliseconds(20)), 100U); }

// A counter that may wrap within 10 ms is kept each 5 ms: 0, 5, 10 … 95.
TEST(LiveWindow, ACounterThatWrapsSoonIsKeptOftener) {
  EXPECT_EQ(kept_of(device_of(Behaviour::counter, 0.010), 100, milliseconds(20)), 20U);
}

}  // namespace
}  // namespace joulery
