#include "meter/device_events.h"

#include <gtest/gtest.h>

namespace joulery {
namespace {

// A counter of millijoules that never wraps, one that does, and a power.
std::vector<Channel> channels() {
  std::vector<Channel> all(3);
  all[0].name = "energy";
  all[0].unit = 1e-3;
  all[1].name = "wraps";
  all[1].range = 1000;
  all[2].measurand = Measurand::power;
  all[2].behaviour = Behaviour::gauge;
  return all;
}

std::vector<Reading> round(std::int64_t second, std::int64_t energy, std::int64_t wraps = 5) {
  const MonoTime t{second * 1'000'000'000};
  return {{energy, MissingReason::none, t, t}, {wraps, MissingReason::none, t, t}, {7, MissingReason::none, t, t}};
}
std::vector<Reading> nothing(std::int64_t second, MissingReason why) {
  std::vector<Reading> all = round(second, 0);
  for (Reading& reading : all) reading.reason = why;
  return all;
}

TEST(DeviceEvents, ASilenceIsToldFromWhenToWhen) {
  DeviceEvents device(channels());
  EXPECT_TRUE(device.take(round(1, 1000)).empty());
  EXPECT_TRUE(device.take(nothing(2, MissingReason::device_lost)).empty());
  EXPECT_TRUE(device.take(nothing(3, MissingReason::device_lost)).empty());
  const auto events = device.take(round(4, 4000));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, "device lost");
  EXPECT_EQ(events[0].detail, "device lost");
  EXPECT_EQ(events[0].when, (Interval{{2'000'000'000}, {4'000'000'000}}));
  EXPECT_EQ(events[0].count, 2);
  EXPECT_FALSE(device.finish());
}

TEST(DeviceEvents, ASilenceUntilTheEndIsToldAtTheEnd) {
  DeviceEvents device(channels());
  device.take(round(1, 1000));
  device.take(nothing(2, MissingReason::timed_out));
  device.take(nothing(3, MissingReason::timed_out));
  const auto event = device.finish();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->kind, "device silent");
  EXPECT_EQ(event->detail, "no answer in time");
  EXPECT_EQ(event->when, (Interval{{2'000'000'000}, {3'000'000'000}}));
}

TEST(DeviceEvents, OneReadingThatIsMissingIsNoSilence) {
  DeviceEvents device(channels());
  auto readings = round(1, 1000);
  readings[2].reason = MissingReason::io_error;
  device.take(readings);
  EXPECT_FALSE(device.finish());
}

TEST(DeviceEvents, ACounterThatNeverWrapsAndFallsIsTold) {
  DeviceEvents device(channels());
  device.take(round(1, 5'200'000, 900));
  const auto events = device.take(round(2, 0, 10));  // the other one may wrap
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, "counter fell");
  EXPECT_EQ(events[0].detail, "energy from 5.20 kJ to 0 J");
  EXPECT_EQ(events[0].when, (Interval{{1'000'000'000}, {2'000'000'000}}));
}

}  // namespace
}  // namespace joulery
