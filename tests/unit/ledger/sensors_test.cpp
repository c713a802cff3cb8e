// What sensors cannot know of themselves: steps that keep their pace, counters that do not count, gains.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "ledger/cross_check.h"
#include "ledger/resonance.h"
#include "ledger/sensor_gain.h"
#include "record/memory_recording.h"

namespace joulery {
namespace {

constexpr double start = 1000;
MonoTime at(double s) { return {seconds(start + s).base_units()}; }

std::vector<Step> steps_of(double period, double length) {
  std::vector<Step> steps;
  for (int i = 0; (i + 1) * period <= length; ++i) steps.push_back({{at(i * period), at((i + 1) * period)}, "step", 0, 0, 0});
  return steps;
}

// A sensor of 25 ms in 100 that looks at a load of 100 W, 300 W for half of each `cycle`.
std::vector<GaugeUpdate> updates_of(double cycle, double length) {
  std::vector<GaugeUpdate> updates;
  for (int i = 1; i * 0.1 <= length; ++i) {
    double joules = 0;
    for (int k = 0; k < 25; ++k) {
      const double t = i * 0.1 - 0.0005 - k * 0.001;
      joules += (std::fmod(t, cycle) < cycle / 2 ? 300 : 100) * 0.001;
    }
    updates.push_back({at(i * 0.1), joules / 0.025});
  }
  return updates;
}

TEST(Resonance, StepsThatKeepTheSensorsPaceAreFound) {
  // 102.5 ms against 100 ms: a beat of 4.1 s, and a run of 10 s.
  const auto found = find_resonance(updates_of(0.1025, 10), steps_of(0.1025, 10), {at(0), at(10)});
  ASSERT_TRUE(found);
  EXPECT_NEAR(to_seconds(found->step), 0.1025, 1e-6);
  EXPECT_NEAR(to_seconds(found->update), 0.1, 1e-6);
  EXPECT_NEAR(to_seconds(found->beat), 4.1, 0.4);
  // 100 W to either side, for as much as a beat over π times the run.
  EXPECT_NEAR(to_watts(found->error), 100 * 4.1 / (std::numbers::pi * 10), 2);
}

TEST(Resonance, EveryOtherStepMayBeTheHeavyOne) {
  const auto found = find_resonance(updates_of(0.1025, 10), steps_of(0.1025 / 2, 10), {at(0), at(10)});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->steps, 0.5);
  EXPECT_NE(found->text().find("two steps of 51.2 ms"), std::string::npos) << found->text();
}

TEST(Resonance, WithoutAPaceInCommonThereIsNone) {
  for (const double period : {0.073, 0.0137, 0.3}) {
    const auto found = find_resonance(updates_of(period, 10), steps_of(period, 10), {at(0), at(10)});
    EXPECT_FALSE(found) << period << ": " << found->text();
  }
}

TEST(Resonance, AFewStepsAreNoPace) { EXPECT_FALSE(find_resonance(updates_of(0.1, 10), steps_of(1.0, 10), {at(0), at(10)})); }

TEST(Resonance, ALockedPaceShowsNoSwingAndCostsTheWholeAmplitude) {
  // Exactly the sensor's pace: within the steps the readings stand still; outside, at rest, they were 100 W.
  auto updates = updates_of(0.1, 10);
  for (std::size_t i = 0; i < updates.size(); ++i) updates[i].watts = 300 + 0.1 * static_cast<double>(i % 3);
  updates.push_back({at(11), 100});
  const auto found = find_resonance(updates, steps_of(0.1, 10), {at(0), at(12)});
  ASSERT_TRUE(found);
  EXPECT_NEAR(to_watts(found->error), 100, 0.2);
}

// A GPU with a counter of millijoules and a power gauge of milliwatts, read each 100 ms for 6 s.
MemoryRecording gpu(double counter_watts, double gauge_watts) {
  Channel counter, gauge;
  counter.component = gauge.component = Component("node/gpu/0");
  counter.name = "energy";
  counter.unit = gauge.unit = 1e-3;
  counter.accuracy = gauge.accuracy = {.relative = 0.07, .absolute = watts(10)};
  gauge.name = "power";
  gauge.measurand = Measurand::power;
  gauge.behaviour = Behaviour::gauge;
  MemoryRecording recording({{"nvml", "GPU-1", milliseconds(100), {counter, gauge}}});
  for (int i = 0; i <= 60; ++i) {
    const Reading readings[] = {{to_whole(counter_watts * i * 100), MissingReason::none, at(i * 0.1), at(i * 0.1)},
                                {to_whole(gauge_watts * 1000), MissingReason::none, at(i * 0.1), at(i * 0.1)}};
    recording.add(Round{0, at(i * 0.1), readings});
  }
  return recording;
}

TEST(CrossCheck, TheCounterWinsWhereItsPowerBearsItOut) {
  // 187 J by the counter, 327 J by power that is too high: the counter was right.
  for (const double watts : {37.48, 65.4, 100.0}) {
    auto timeline = *Timeline::from(gpu(watts, 65.4), 1);
    EXPECT_TRUE(cross_check_counters(timeline).empty());
    EXPECT_EQ(timeline.sources[0].channel.name, "energy");
  }
}

TEST(CrossCheck, ACounterOfAnotherUnitOrThatStandsStillIsNotBelieved) {
  for (const double watts : {0.0, 0.0654, 654.0}) {
    auto timeline = *Timeline::from(gpu(watts, 65.4), 1);
    const auto flags = cross_check_counters(timeline);
    ASSERT_EQ(flags.size(), 1U) << watts;
    EXPECT_TRUE(flags[0].starts_with("counter-not-believed: node/gpu/0: nvml energy says")) << flags[0];
    EXPECT_EQ(timeline.sources[0].channel.name, "power");
    EXPECT_EQ(timeline.sources[1].channel.name, "energy");
  }
}

TEST(SensorGain, IsLearntAppliedAndKept) {
  auto timeline = *Timeline::from(gpu(100, 100), 1);  // 600 J over 6 s
  const auto gains = learn_gains(timeline, "node/gpu/0", joules(630), "a test");
  ASSERT_TRUE(gains);
  ASSERT_EQ(gains->size(), 1U);
  EXPECT_NEAR(gains->front().factor, 1.05, 1e-9);
  const auto read = gains_from_json(to_json(*gains));
  ASSERT_TRUE(read);
  ASSERT_EQ(apply_gains(timeline, *read).size(), 1U);
  const Estimate energy = *timeline.sources[1].track.energy(timeline.run).energy;
  EXPECT_NEAR(to_joules(energy.value), 630, 1e-5);
  EXPECT_LT(to_joules(energy.high), 690);  // 2 % and 5 W in place of 7 % and 10 W
}

TEST(SensorGain, AFactorThatIsNoneIsRefused) {
  const auto timeline = *Timeline::from(gpu(100, 100), 1);
  EXPECT_FALSE(learn_gains(timeline, "node/gpu/0", joules(6000), ""));
  EXPECT_FALSE(learn_gains(timeline, "node/gpu/1", joules(600), ""));
  for (const char* text :
       {"", "[]", "{\"gains\": [{}]}", "{\"gains\": [{\"device\": \"a\", \"channel\": \"b\", \"factor\": 9, \"source\": \"\"}]}"})
    EXPECT_FALSE(gains_from_json(text)) << text;
}

}  // namespace
}  // namespace joulery
