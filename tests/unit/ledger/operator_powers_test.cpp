// Powers of operators solved from a meter that is far slower than they are, on synthetic GPUs whose truth is known.
#include "ledger/operators/operator_powers.h"

#include <gtest/gtest.h>

#include <numeric>

#include "ledger/operators/grouping.h"
#include "ledger/operators/likely_powers.h"
#include "ledger/operators/mixes.h"
#include "ledger/operators/power_readings.h"
#include "ledger/operators/regression.h"
#include "record/memory_recording.h"
#include "tests/unit/ledger/synthetic_gpu.h"

namespace joulery {
namespace {

MonoTime at(double s) { return synthetic::at(s); }
Interval within(double begin, double end) { return {at(begin), at(end)}; }

// The score of so many worlds, each with its own seed, of which none was seen when the solver was tuned.
template <class Change>
SyntheticScore play(int worlds, const Change& change) {
  SyntheticScore score;
  for (int i = 0; i < worlds; ++i) {
    const std::uint64_t seed = judged_from + static_cast<std::uint64_t>(i);
    SyntheticWorld world = world_of(seed);
    change(world);
    SyntheticGpu gpu = make_synthetic_gpu(world, 1000 + seed);
    if (world.late_seconds != 0) gpu.question.most_delay = milliseconds(100);
    add_score(score, gpu, solve_operators(gpu.question));
  }
  return score;
}

double percent(int part, int whole) { return 100.0 * part / whole; }

// Operators and named groups; and every operator by itself, of which no solver without bias brings more than 80 to 82 in 100 within 5 %
// (docs/measured/operators.md), though all intervals must hold.
TEST(OperatorPowers, AreWithinFivePercentAndTheirIntervalsHold) {
  const SyntheticScore score = play(100, [](SyntheticWorld&) {});
  ASSERT_GT(score.groups, 500);
  EXPECT_GE(percent(score.within, score.groups), 93);
  EXPECT_GE(percent(score.covered, score.groups), 87);
  EXPECT_LE(percent(score.covered, score.groups), 93);
  EXPECT_GE(percent(score.kinds_covered, score.kinds), 87);
  EXPECT_LE(percent(score.kinds_covered, score.kinds), 93);
  EXPECT_GE(percent(score.kinds_within, score.kinds), 77);
  // What is merged is not wrong either, but merging everything would be too easy.
  EXPECT_GE(percent(score.alone, score.kinds), 55);
  EXPECT_GE(percent(score.alone_within, score.alone), 93);
}

// An operator that burns far more or less than the others is the one that a common spread of powers would hide.
TEST(OperatorPowers, IntervalsHoldForUnusualOperatorsToo) {
  const SyntheticScore score = play(60, [](SyntheticWorld& world) { world.seconds = 60; });
  ASSERT_GT(score.unusual, 60);
  EXPECT_GE(percent(score.unusual_covered, score.unusual), 82);
}

// Each world with many draws of the meter's errors: worlds of such short steps are slow to make, and each has few groups.
TEST(OperatorPowers, StepsTooShortToTellOperatorsApartMergeThem) {
  SyntheticScore score;
  std::mt19937_64 random(7);
  for (std::uint64_t seed = judged_from; seed < judged_from + 20; ++seed) {
    SyntheticWorld world = world_of(seed);
    world.step_seconds = 0.007, world.seconds = 200;
    const SyntheticGpu gpu = make_synthetic_gpu(world, 1000 + seed);
    const OperatorQuestion& q = gpu.question;
    Mixes mixes = mixes_of(q.kinds.size(), q.activities, q.readings, q.when, {}, false);
    for (int draw = 0; draw < 30; ++draw) {
      draw_again(world, gpu, mixes, random);
      add_score(score, gpu, solve_mixes(q, mixes));
    }
  }
  ASSERT_GT(score.groups, 500);
  EXPECT_LE(percent(score.alone, score.kinds), 20);
  EXPECT_GE(percent(score.within, score.groups), 93);
  EXPECT_GE(percent(score.covered, score.groups), 87);
  EXPECT_LE(percent(score.covered, score.groups), 93);
  EXPECT_GE(percent(score.kinds_covered, score.kinds), 87);
  EXPECT_LE(percent(score.kinds_covered, score.kinds), 93);
}

bool says(const OperatorPowers& powers, std::string_view words) {
  return std::ranges::any_of(powers.notes, [&](const std::string& note) { return note.find(words) != std::string::npos; });
}

// Sensors of some GPUs see 25 of 100 ms, and of others the mean of a second (Yang, Adamek, Armour, arXiv 2312.02741), and which one it
// is hangs on model and driver.
TEST(OperatorPowers, AMeterThatSeesAPartOfTheTimeIsFoundOut) {
  const SyntheticScore said = play(25, [](SyntheticWorld& world) { world.window_seconds = 0.025; });
  EXPECT_GE(percent(said.covered, said.groups), 83);  // of some 200: 90 less three times what chance does
  EXPECT_EQ(said.warned, 0);
  const SyntheticScore not_said = play(25, [](SyntheticWorld& world) { world.window_seconds = 0.025, world.told_window_seconds = 0.1; });
  EXPECT_GE(percent(not_said.covered, not_said.groups), 83);
  EXPECT_GE(percent(not_said.within, not_said.groups), 93);
  EXPECT_EQ(not_said.warned, 25);
}

TEST(OperatorPowers, ARunningMeanOfASecondTellsLittleAndIsNotOverrated) {
  const SyntheticScore said = play(25, [](SyntheticWorld& world) { world.window_seconds = 1; });
  EXPECT_GE(percent(said.kinds_covered, said.kinds), 84);  // of some 200
  EXPECT_GE(percent(said.covered, said.groups), 74);       // of some 40: 90 less three times what chance does
  EXPECT_LE(percent(said.alone, said.kinds), 25);
  // Believed to be of 100 ms: the readings may not contradict, but it must be said that they do not confirm.
  const SyntheticScore not_said = play(15, [](SyntheticWorld& world) { world.window_seconds = 1, world.told_window_seconds = 0.1; });
  EXPECT_EQ(not_said.warned, 15);
}

TEST(OperatorPowers, FasterMetersTellMore) {
  const SyntheticScore score = play(12, [](SyntheticWorld& world) { world.tick_seconds = 0.025, world.seconds = 300; });
  EXPECT_GE(percent(score.kinds_within, score.kinds), 93);
  EXPECT_GE(percent(score.alone, score.kinds), 90);
  EXPECT_GE(percent(score.covered, score.groups), 78);  // of some 90
}

TEST(OperatorPowers, StreamsThatRunThroughEachOtherAddUp) {
  const SyntheticScore score = play(20, [](SyntheticWorld& world) { world.two_streams = true; });
  EXPECT_GE(percent(score.kinds_covered, score.kinds), 81);  // of some 200
  EXPECT_GE(percent(score.covered, score.groups), 78);
}

TEST(OperatorPowers, MergedGroupsAreNamed) {
  SyntheticWorld world = world_of(3);
  world.step_seconds = 0.007;
  const SyntheticGpu gpu = make_synthetic_gpu(world, 3);
  const OperatorPowers powers = solve_operators(gpu.question);
  const auto merged = std::ranges::find_if(powers.groups, [](const OperatorGroup& group) { return group.members.size() > 1; });
  ASSERT_NE(merged, powers.groups.end());
  ASSERT_FALSE(powers.notes.empty());
  EXPECT_EQ(powers.notes[0].find("cannot be told apart, so told together: "), 0U) << powers.notes[0];
  for (const std::size_t k : merged->members)
    if (k < gpu.question.kinds.size()) { EXPECT_NE(powers.notes[0].find(gpu.question.kinds[k]), std::string::npos) << powers.notes[0]; }
}

// A counter's error at a tick is given back at the next one. Of some 700 groups each, where chance makes 1.2 % of difference.
TEST(OperatorPowers, ErrorsThatDependOnEachOtherAreAllowedFor) {
  const SyntheticScore counter = play(130, [](SyntheticWorld& world) { world.echo = -0.9, world.seconds = 200; });
  EXPECT_GE(percent(counter.covered, counter.groups), 87);
  EXPECT_LE(percent(counter.covered, counter.groups), 93);
  const SyntheticScore slow = play(110, [](SyntheticWorld& world) { world.echo = 0.8, world.seconds = 200; });
  EXPECT_GE(percent(slow.covered, slow.groups), 87);
  EXPECT_LE(percent(slow.covered, slow.groups), 93);
}

TEST(OperatorPowers, AShortProfileIsLessSureAndSaysSo) {
  const SyntheticScore score = play(600, [](SyntheticWorld& world) { world.seconds = 20; });
  EXPECT_GE(percent(score.covered, score.groups), 86);
  EXPECT_LE(percent(score.covered, score.groups), 94);
}

TEST(OperatorPowers, AMeterThatIsLateIsFoundOut) {
  const SyntheticScore score =
      play(12, [](SyntheticWorld& world) { world.late_seconds = 0.013, world.step_seconds = 0.15, world.seconds = 200; });
  EXPECT_GE(percent(score.covered, score.groups), 75);  // of some 70 groups: 90 less four times what chance does
  EXPECT_GE(percent(score.within, score.groups), 90);
  SyntheticWorld world = world_of(2);
  world.late_seconds = 0.013;
  SyntheticGpu gpu = make_synthetic_gpu(world, 2);
  gpu.question.most_delay = milliseconds(50);
  EXPECT_NEAR(to_seconds(solve_operators(gpu.question).delay), 0.013, 0.001);
}

TEST(OperatorPowers, PowersThatChangeAreSaidToAndWiden) {
  SyntheticWorld world = world_of(2);
  const OperatorPowers still = solve_operators(make_synthetic_gpu(world, 2).question);
  world.drift = 0.2;
  const OperatorPowers changed = solve_operators(make_synthetic_gpu(world, 2).question);
  EXPECT_FALSE(says(still, "not the same in both halves"));
  EXPECT_TRUE(says(changed, "not the same in both halves"));
  const SyntheticScore score = play(15, [](SyntheticWorld& drifting) { drifting.drift = 0.2; });
  EXPECT_GE(percent(score.kinds_covered, score.kinds), 87);
}

TEST(OperatorPowers, SumToTheWholeToTheMicrojoule) {
  for (const double step : {0.007, 0.05}) {
    SyntheticWorld world = world_of(5);
    world.step_seconds = step, world.seconds = 60;
    SyntheticGpu gpu = make_synthetic_gpu(world, 5);
    gpu.question.whole = {microjoules(12'345'678'901), microjoules(12'000'000'001), microjoules(12'600'000'007)};
    const OperatorPowers powers = solve_operators(gpu.question);
    Energy kinds, groups;
    for (const OperatorPart& part : powers.parts) {
      kinds += part.energy.value;
      EXPECT_LE(part.low, part.power);
      EXPECT_LE(part.power, part.high);
      EXPECT_GE(part.low, Power{});
    }
    for (const OperatorGroup& group : powers.groups) {
      Energy members;
      for (const std::size_t k : group.members) members += powers.parts[k].energy.value;
      EXPECT_EQ(members, group.energy.value);
      groups += group.energy.value;
      EXPECT_LE(group.low, group.power);
      EXPECT_LE(group.power, group.high);
      EXPECT_GE(group.low, Power{});
      EXPECT_LE(group.energy.low, group.energy.value);
      EXPECT_LE(group.energy.value, group.energy.high);
    }
    EXPECT_EQ(kinds, gpu.question.whole.value);
    EXPECT_EQ(groups, gpu.question.whole.value);
  }
}

TEST(OperatorPowers, TooFewReadingsShareByTime) {
  OperatorQuestion question{{"a", "b"}, {{0, within(0, 1), 1}, {1, within(1, 4), 1}}, {{within(0, 2), 100}}, within(0, 4), {}, false, {},
                            false};
  question.whole = {joules(400), joules(390), joules(410)};
  const OperatorPowers powers = solve_operators(question);
  EXPECT_FALSE(powers.solved);
  EXPECT_EQ(powers.parts[0].energy.value, joules(100));
  EXPECT_EQ(powers.parts[1].energy.value, joules(300));
  EXPECT_EQ(powers.parts[2].energy.value, Energy{});
}

TEST(OperatorPowers, NothingRanGivesAllToTheGaps) {
  OperatorQuestion question{{}, {}, {}, within(0, 10), {joules(50), joules(50), joules(50)}, false, {}, false};
  for (int i = 0; i < 10; ++i) question.readings.push_back({within(i, i + 1), 5.0 + 0.01 * (i % 3)});
  const OperatorPowers powers = solve_operators(question);
  ASSERT_EQ(powers.parts.size(), 1U);
  EXPECT_EQ(powers.parts[0].energy.value, joules(50));
}

// Four cores: 30 W static, region a 10 W a core on two cores, b 20 W on one; both may run at once.
TEST(OperatorPowers, ThreadsOnCoresAddUpOnAStaticPower) {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> evenly(0, 1);
  std::normal_distribution<double> noise(0, 1);
  OperatorQuestion question{{"a", "b"}, {}, {}, within(0, 200), {}, true, {}, false};
  std::vector<Activity> all;
  for (double t = 0; t < 199; t += 0.05 + 0.1 * evenly(random)) all.push_back({0, within(t, t + 0.04), 2});
  for (double t = 0; t < 199; t += 0.03 + 0.2 * evenly(random)) all.push_back({1, within(t, t + 0.025), 1});
  std::ranges::sort(all, {}, [](const Activity& a) { return a.when.begin; });
  question.activities = all;
  double whole = 0;
  for (int i = 0; i < 4000; ++i) {
    const Interval slot = within(0.05 * i, 0.05 * (i + 1));
    double joules = 30 * 0.05;
    for (const Activity& a : all) joules += (a.kind == 0 ? 10 : 20) * a.amount * to_seconds(intersect(slot, a.when).length());
    question.readings.push_back({slot, joules / 0.05 + noise(random)});
    whole += joules;
  }
  question.whole = {joulery::joules(whole), joulery::joules(whole), joulery::joules(whole)};
  const OperatorPowers powers = solve_operators(question);
  ASSERT_TRUE(powers.on_static_power);
  ASSERT_EQ(powers.groups.size(), 3U);
  const auto power_of = [&](std::size_t k) { return to_watts(powers.groups[powers.group_of[k]].power); };
  EXPECT_NEAR(power_of(0), 10, 0.5);
  EXPECT_NEAR(power_of(1), 20, 1.0);
  EXPECT_NEAR(power_of(2), 30, 0.7);
}

// Two operators that always follow each other, each 5 ms, seen by windows that hold both: only their mean is known.
TEST(OperatorPowers, ColumnsThatAreTheSameAreOneGroup) {
  OperatorQuestion question{{"a", "b", "c"}, {}, {}, within(0, 40), {}, false, {}, false};
  std::mt19937_64 random(5);
  std::normal_distribution<double> noise(0, 1);
  double whole = 0;
  for (int i = 0; i < 400; ++i) {
    const double t = 0.1 * i, c = 0.01 + 0.05 * ((i * 7) % 5) / 5.0, ab = 0.01 + 0.02 * ((i * 3) % 4) / 4.0;
    question.activities.push_back({0, within(t + 0.001, t + 0.001 + ab / 2), 1});
    question.activities.push_back({1, within(t + 0.001 + ab / 2, t + 0.001 + ab), 1});
    question.activities.push_back({2, within(t + 0.035, t + 0.035 + c), 1});
    const double joules = ab / 2 * 100 + ab / 2 * 300 + c * 150 + (0.1 - ab - c) * 50;
    question.readings.push_back({within(t, t + 0.1), joules / 0.1 + noise(random)});
    whole += joules;
  }
  question.whole = {joules(whole), joules(whole), joules(whole)};
  const OperatorPowers powers = solve_operators(question);
  ASSERT_EQ(powers.group_of[0], powers.group_of[1]);
  EXPECT_NE(powers.group_of[0], powers.group_of[2]);
  EXPECT_NEAR(to_watts(powers.groups[powers.group_of[0]].power), 200, 5);
  EXPECT_NEAR(to_watts(powers.groups[powers.group_of[2]].power), 150, 3);
  EXPECT_EQ(powers.parts[0].energy.value, powers.parts[1].energy.value);  // by time, within the group: equal but for a microjoule
}

TEST(Mixes, ShareAWindowByWhatRan) {
  const std::vector<Activity> activities{{0, within(0.5, 1.5), 1}, {1, within(1.5, 1.75), 1}};
  const std::vector<PowerReading> readings{{within(0, 1), 10}, {within(1, 2), 20}, {within(0, 2), 15}};
  const Mixes mixes = mixes_of(2, activities, readings, within(0, 2), {}, false);
  ASSERT_EQ(mixes.rows(), 3U);
  const std::vector<double> expected{0.5, 0, 0.5, 0.5, 0.25, 0.25, 0.5, 0.125, 0.375};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(mixes.shares[i], expected[i], 1e-12) << i;
  EXPECT_FALSE(mixes.overlapping);
  EXPECT_NEAR(mixes.gap_seconds, 0.75, 1e-12);
  // Half a second late: the first window then ends where the second half of it began.
  const Mixes late =
      mixes_of(2, activities, std::span(readings).subspan(1, 1), within(0, 2.5), {milliseconds(500), milliseconds(500)}, false);
  ASSERT_EQ(late.rows(), 1U);
  EXPECT_NEAR(late.shares[0], 1, 1e-12);
}

TEST(Mixes, WhatOverlapsStandsOnAStaticPower) {
  const std::vector<Activity> activities{{0, within(0, 1), 1}, {1, within(0.5, 1), 3}};
  const Mixes mixes = mixes_of(2, activities, std::vector<PowerReading>{{within(0, 1), 10}}, within(0, 1), {}, false);
  EXPECT_TRUE(mixes.overlapping);
  EXPECT_NEAR(mixes.shares[1], 1.5, 1e-12);
  EXPECT_NEAR(mixes.shares[2], 1, 1e-12);
}

// Values of Student's t from tables (95 %, one-sided).
TEST(Regression, StudentsT) {
  EXPECT_NEAR(student_90(1), 6.3138, 1e-3);
  EXPECT_NEAR(student_90(5), 2.0150, 1e-4);
  EXPECT_NEAR(student_90(30), 1.6973, 1e-4);
  EXPECT_NEAR(student_90(1e7), 1.6449, 1e-4);
}

// By hand: y = 2 x exactly, with a second column of zeros, which the rows tell nothing of.
TEST(Regression, AColumnOfZerosIsHidden) {
  const std::vector<double> shares{1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0}, watts{2, 4, 6, 8, 10, 12};
  const Regression solved = regress(shares, 2, watts);
  EXPECT_NEAR(solved.value[0], 2, 1e-12);
  ASSERT_EQ(solved.hidden.size(), 2U);
  EXPECT_NEAR(std::abs(solved.hidden[1]), 1, 1e-12);
}

// Four powers that are known exactly do not move; one of which nothing is known comes to lie among them, wherever the equations put it.
TEST(LikelyPowers, DrawWhatIsNotKnownAndLeaveWhatIs) {
  Regression solved;
  solved.value = {90, 110, 95, 105, 700};
  solved.covariance.assign(25, 0);
  solved.covariance[24] = 1e6;
  const std::vector<std::size_t> family{0, 1, 2, 3, 4};
  const std::vector<double> likely = likely_powers(solved, family, 200, 1, {});
  for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(likely[k], solved.value[k], 1e-6);
  EXPECT_NEAR(likely[4], 100, 5);
}

// By hand: (80, 160) with errors against each other, so that their mean is exact: they are drawn together and the mean stays 120.
TEST(LikelyPowers, KeepTheMeanOfAGroup) {
  Regression solved;
  solved.value = {80, 160, 118, 122};
  solved.covariance = {400, -400, 0, 0, -400, 400, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  const std::vector<std::size_t> family{0, 1, 2, 3};
  const std::vector<std::vector<double>> groups{{0.5, 0.5, 0, 0}};
  const std::vector<double> likely = likely_powers(solved, family, 120, 1, groups);
  EXPECT_NEAR(likely[0] + likely[1], 240, 1e-6);
  EXPECT_GT(likely[0], 90);
  EXPECT_LT(likely[1], 150);
}

// By hand: covariance [1 0.5; 0.5 1], values (-1, 2). With the first at 0, the second is 2 - 0.5 * (-1) / 1 = 2.5.
TEST(Regression, NothingNegative) {
  const std::vector<double> value{-1, 2}, covariance{1, 0.5, 0.5, 1};
  const std::vector<double> bounded = not_negative(value, covariance);
  EXPECT_NEAR(bounded[0], 0, 1e-12);
  EXPECT_NEAR(bounded[1], 2.5, 1e-12);
}

RecordedDevice device_of(Channel channel) { return {"test", "device", milliseconds(10), {std::move(channel)}}; }

void add_round(MemoryRecording& recording, double s, std::int64_t raw) {
  Round round;
  round.device = 0;
  const Reading reading{raw, MissingReason::none, at(s), at(s)};
  round.readings = {&reading, 1};
  recording.add(round);
}

// A counter that refreshes every 100 ms, looked at every 50 ms: a reading from refresh to refresh.
TEST(PowerReadings, OfACounterGoFromRefreshToRefresh) {
  Channel channel;
  channel.component = Component("node/gpu/0"), channel.name = "energy", channel.unit = 1e-3, channel.update_period = milliseconds(100);
  MemoryRecording recording({device_of(channel)});
  const std::int64_t raw[] = {0, 0, 5000, 5000, 15000, 15000, 35000};
  for (int i = 0; i < 7; ++i) add_round(recording, 0.05 * i, raw[i]);
  const auto found = power_readings(recording, Component("node/gpu/0"));
  ASSERT_TRUE(found);
  ASSERT_EQ(found->readings.size(), 2U);
  EXPECT_NEAR(found->readings[0].watts, 100, 1e-9);  // 10 J in 0.1 s
  EXPECT_EQ(found->readings[0].when, within(0.1, 0.2));
  EXPECT_NEAR(found->readings[1].watts, 200, 1e-9);
}

// A gauge of the mean of 1 s, refreshed every 100 ms, read every 100 ms: the window ends half a refresh before.
TEST(PowerReadings, OfAGaugeAreOfItsWindow) {
  Channel channel;
  channel.component = Component("node/gpu/0"), channel.name = "power", channel.measurand = Measurand::power,
  channel.behaviour = Behaviour::gauge;
  channel.unit = 1e-3, channel.update_period = milliseconds(100), channel.averaging_window = seconds(1);
  MemoryRecording recording({device_of(channel)});
  add_round(recording, 5.0, 90000);
  add_round(recording, 5.1, 100000);
  const auto found = power_readings(recording, Component("node/gpu/0"));
  ASSERT_TRUE(found);
  ASSERT_EQ(found->readings.size(), 1U);
  EXPECT_NEAR(found->readings[0].watts, 100, 1e-9);
  EXPECT_EQ(found->readings[0].when, within(4.05, 5.05));
}

}  // namespace
}  // namespace joulery
