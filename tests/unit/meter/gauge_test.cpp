#include "meter/gauge.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace joulery {
namespace {

MonoTime at(double s) { return {seconds(s + 1000).base_units()}; }

Channel sensor(Duration update, Duration window) {
  Channel channel;
  channel.measurand = Measurand::power;
  channel.behaviour = Behaviour::gauge;
  channel.unit = 1e-3;
  channel.update_period = update;
  channel.averaging_window = window;
  return channel;
}

// A load that is 100 W but 300 W from 4 s to 8 s: mean power over [a, b].
double mean_power(double a, double b) {
  const double high = std::max(0.0, std::min(b, 8.0) - std::max(a, 4.0));
  return 100 + 200 * high / (b - a);
}

// What a sensor says of that load when read every `period` seconds from `begin` to `end`: refreshed every `update`, the mean of
// `window` before the refresh.
struct Readings {
  std::vector<MonoTime> times;
  std::vector<std::int64_t> raw;
  Readings(double begin, double end, double period, double update, double window) {
    for (int i = 0; begin + i * period <= end + 1e-9; ++i) {
      const double t = begin + i * period, refresh = std::floor(t / update + 1e-9) * update;
      times.push_back(at(t));
      raw.push_back(to_whole(1e3 * mean_power(refresh - window, refresh)));
    }
  }
};

double energy(const Track& track, double a, double b) { return to_joules(track.energy({at(a), at(b)}).energy->value); }

TEST(Gauge, ConstantPowerIsExactWhateverTheWindow) {
  for (const double window : {0.0, 0.025, 0.1, 1.0}) {
    std::vector<MonoTime> times;
    for (int i = 0; i <= 100; ++i) times.push_back(at(i * 0.1));
    const std::vector<std::int64_t> raw(times.size(), 250'000);
    const Track track = integrate_gauge(sensor(milliseconds(100), seconds(window)), times, raw, {});
    EXPECT_NEAR(energy(track, 0, 10), 2500, 1e-5) << window;
    EXPECT_NEAR(energy(track, 3.5, 4), 125, 1e-5) << window;
    EXPECT_EQ(track.covered().begin, at(0)) << window;
    EXPECT_EQ(track.covered().end, at(10)) << window;
  }
}

TEST(Gauge, AMeanOfASecondIsMovedBackToTheMiddleOfItsWindow) {
  const Readings readings(0, 12, 0.01, 0.1, 1.0);
  const Track track = integrate_gauge(sensor(milliseconds(100), seconds(1)), readings.times, readings.raw, {});
  // Of the load's middle, where the smear of half a second does not reach: 1 s at 300 W.
  EXPECT_NEAR(energy(track, 5, 6), 300, 0.5);
  // To the middle of the rise all of the smear is symmetrical: what it moves before 4 s it takes from after.
  EXPECT_NEAR(energy(track, 2, 6), 200 + 600, 3);
  EXPECT_NEAR(energy(track, 0, 12), 1200 + 800, 3);
  // As read it would be half a second late: 100 J less up to the middle of the load.
  const Track late = integrate_gauge(sensor(milliseconds(100), Duration()), readings.times, readings.raw, {});
  EXPECT_LT(energy(late, 2, 6), 800 - 90);
}

TEST(Gauge, TheFirstWindowIsDiscarded) {
  // Read from 4.0 s on, as a run that begins the load: the first second's readings still hold the quiet before.
  const Readings readings(4, 8, 0.01, 0.1, 1.0);
  const Track track = integrate_gauge(sensor(milliseconds(100), seconds(1)), readings.times, readings.raw, {});
  EXPECT_NEAR(energy(track, 4, 8), 1200, 12);
}

TEST(Gauge, TheLastWholeWindowReachesToTheEnd) {
  // 100 W from 8 s on, read to 9.3 s: without it the last half second would be lost.
  const Readings readings(6, 9.3, 0.01, 0.1, 1.0);
  const Track track = integrate_gauge(sensor(milliseconds(100), seconds(1)), readings.times, readings.raw, {});
  EXPECT_EQ(track.covered().end, readings.times.back());
  EXPECT_NEAR(energy(track, 6, 9.3), 600 + 130, 12);
}

TEST(Gauge, WhatIsNotSeenWidensTheInterval) {
  // Successive readings of 100 and 300 W, each 25 ms of 100: three quarters of the time could be either.
  std::vector<MonoTime> times;
  std::vector<std::int64_t> raw;
  for (int i = 0; i <= 100; ++i) {
    times.push_back(at(i * 0.1));
    raw.push_back(i % 2 == 0 ? 100'000 : 300'000);
  }
  const auto width = [&](int window_ms) {
    const Estimate e = *integrate_gauge(sensor(milliseconds(100), milliseconds(window_ms)), times, raw, {}).energy({at(2), at(8)}).energy;
    return to_joules(e.high - e.low);
  };
  // Variance of one period: 0.75 × (200 W × 0.1 s)² / 2 = 150 J²; 60 periods: ±1.645 × √9000 = ±156 J, less at the edges.
  EXPECT_NEAR(width(25), 2 * 156, 30);
  EXPECT_LT(width(100), 60);  // all is seen: only the edges are open
}

TEST(Gauge, AnOutageEndsOneStretchAndBeginsAnother) {
  const Readings readings(0, 12, 0.1, 0.1, 1.0);
  std::vector<MissingReason> reasons(readings.raw.size(), MissingReason::none);
  for (std::size_t i = 50; i < 60; ++i) reasons[i] = MissingReason::device_lost;  // 5.0 to 5.9 s
  const Track track = integrate_gauge(sensor(milliseconds(100), seconds(1)), readings.times, readings.raw, reasons);
  ASSERT_EQ(track.gaps().size(), 1U);
  EXPECT_EQ(track.gaps()[0].when, (Interval{readings.times[49], readings.times[60]}));
  EXPECT_NEAR(energy(track, 4.9, 6.0), 0, 1e-6);  // nothing is made up
  EXPECT_TRUE(track.energy({at(4), at(7)}).partial);
  EXPECT_NEAR(energy(track, 6.0, 7.5), 450, 1);
}

TEST(Gauge, ShorterThanItsWindowReadingsCountAsTheyAre) {
  const std::vector<MonoTime> times{at(0), at(0.2), at(0.4)};
  const Track track =
      integrate_gauge(sensor(milliseconds(100), seconds(1)), times, std::vector<std::int64_t>{100'000, 120'000, 140'000}, {});
  EXPECT_NEAR(energy(track, 0, 0.4), 48, 1e-5);  // the trapezoid: 0.2 × 110 + 0.2 × 130
}

TEST(Gauge, WithoutAGoodReadingNothingIsKnown) {
  const std::vector<MonoTime> times{at(0), at(1)};
  const std::vector<MissingReason> reasons(2, MissingReason::not_supported);
  const Track track = integrate_gauge(sensor(milliseconds(100), seconds(1)), times, std::vector<std::int64_t>{0, 0}, reasons);
  EXPECT_TRUE(track.empty());
  ASSERT_EQ(track.gaps().size(), 1U);
  EXPECT_EQ(track.gaps()[0].reason, "not supported by the device");
}

}  // namespace
}  // namespace joulery
