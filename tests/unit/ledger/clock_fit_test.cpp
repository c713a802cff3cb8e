// The offset estimator against clocks whose offset and drift are known, with jitter of a fixed, hand-made pattern.
#include "ledger/merge/clock_fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ledger/merge/host_alignment.h"

namespace joulery {
namespace {

constexpr std::int64_t second = 1'000'000'000;

TEST(MedianOf, TakesTheOrderStatisticsThatHoldNinetyPercent) {
  // m = 9: j = floor((9 - 1.645 * 3) / 2) = floor(2.03) = 2.
  const MedianOf nine = median_of({9, 1, 8, 2, 7, 3, 6, 4, 5});
  EXPECT_EQ(nine.value, 5);
  EXPECT_EQ(nine.low, 3);
  EXPECT_EQ(nine.high, 7);
  // m = 8: j = floor((8 - 4.653) / 2) = 1.
  const MedianOf eight = median_of({1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(eight.value, 4.5);
  EXPECT_EQ(eight.low, 2);
  EXPECT_EQ(eight.high, 7);
}

TEST(ClockFit, TellsAnOffsetExactlyWhereNothingJitters) {
  std::vector<CommonMoment> moments;
  for (std::int64_t k = 0; k < 20; ++k) moments.push_back({{5'000 * second + k * second}, {77 * second + k * second}});
  const auto fit = fit_clock(moments);
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->shift, seconds(4923));
  EXPECT_EQ(fit->shift_low, fit->shift_high);
  EXPECT_EQ(fit->drift, 0);
  EXPECT_EQ(fit->at.ns, 77 * second + 19 * second / 2);
  EXPECT_EQ(fit->scatter, Duration{});
}

TEST(ClockFit, ASingleLateStepMovesNothing) {
  std::vector<CommonMoment> moments;
  for (std::int64_t k = 0; k < 20; ++k) moments.push_back({{100 * second + k * second}, {40 * second + k * second}});
  moments[7].job.ns += 3 * second;
  const auto fit = fit_clock(moments);
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->shift, seconds(60));
}

// By hand: the host's clock runs 20 ppm fast, so the job's falls back 20 µs a second against it; in 300 s that is 6 ms. The thirds'
// medians lie where a straight line has them, so without jitter the slope is exact.
TEST(ClockFit, TellsADriftExactlyWhereNothingJitters) {
  std::vector<CommonMoment> moments;
  for (std::int64_t k = 0; k <= 300; ++k) moments.push_back({{9 * second + k * second - k * 20'000}, {2 * second + k * second}});
  const auto fit = fit_clock(moments);
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->drift, -20e-6, 1e-12);
  EXPECT_NEAR(to_seconds(fit->shift), 7 - 150 * 20e-6, 1e-9);
  EXPECT_LE(to_seconds(fit->scatter), 2e-9);
}

TEST(ClockFit, TooFewMomentsTellNothing) {
  const std::vector<CommonMoment> moments(7, CommonMoment{{1}, {1}});
  EXPECT_FALSE(fit_clock(moments));
}

// 400 jobs with jitter of 1 ms (normal) and one step in twenty late by up to 50 ms: the 90 % intervals hold the truth about as
// often as they say, of the offset and of the drift.
TEST(ClockFit, ItsIntervalsHoldTheTruthAsOftenAsTheySay) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> jitter(0, 1e-3);
  std::uniform_real_distribution<double> late(0, 0.05), chance(0, 1), any_drift(-100e-6, 100e-6);
  int held = 0, drift_held = 0;
  constexpr int jobs = 400;
  for (int job = 0; job < jobs; ++job) {
    const double drift = any_drift(random);
    std::vector<CommonMoment> moments;
    for (int k = 0; k < 500; ++k) {
      const double host = 1000 + k * 0.2;
      double at_job = host + 12.5 + drift * (host - 1000 - 499 * 0.1) + jitter(random);
      if (chance(random) < 0.05) at_job += (k % 2 == 0 ? 1 : -1) * late(random);
      moments.push_back({{to_whole(at_job * 1e9)}, {to_whole(host * 1e9)}});
    }
    const auto fit = fit_clock(moments);
    ASSERT_TRUE(fit);
    held += fit->shift_low <= seconds(12.5) && seconds(12.5) <= fit->shift_high ? 1 : 0;
    drift_held += fit->drift_low <= drift && drift <= fit->drift_high ? 1 : 0;
    EXPECT_NEAR(to_seconds(fit->shift), 12.5, 1e-3);
  }
  EXPECT_GE(held, jobs * 84 / 100);
  EXPECT_LE(held, jobs * 97 / 100);
  EXPECT_GE(drift_held, jobs * 84 / 100);
  EXPECT_LE(drift_held, jobs * 99 / 100);
}

HostRounds rounds(const std::vector<double>& ends, double step) {
  HostRounds made;
  for (const double end : ends) {
    made.ends.push_back({to_whole(end * 1e9)});
    made.begins.push_back({to_whole((end - step) * 1e9)});
  }
  made.typical = seconds(step);
  return made;
}

TEST(FitRounds, TheWallClocksTellWhichRoundsBelongTogether) {
  std::vector<double> job, host;
  for (int k = 0; k < 30; ++k) job.push_back(100 + k);
  for (int k = 2; k < 30; ++k) host.push_back(40 + k);  // it marked two steps less, the first ones
  const auto fit = fit_rounds(rounds(job, 0.9), rounds(host, 0.9), seconds(60.2));
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->shift, seconds(60));
}

TEST(FitRounds, ProgramsThatDoNotWaitForEachOtherHaveNoCommonRounds) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> step(0.1, 0.01);
  std::vector<double> job, host;
  double a = 100, b = 50;
  for (int k = 0; k < 300; ++k) {
    job.push_back(a += step(random));
    host.push_back(b += step(random));
  }
  EXPECT_FALSE(fit_rounds(rounds(job, 0.1), rounds(host, 0.1), seconds(50)));
}

}  // namespace
}  // namespace joulery
