// Delays that are known because the test made them, and series that tell none.
#include "judge/delay.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/unit/judge/scripted_run.h"

namespace joulery {
namespace {

using testing::restless_load;

constexpr double step_s = 0.1;

std::vector<double> sampled(double length, const std::function<double(double)>& watts) {
  std::vector<double> all;
  for (double t = 0; t < length; t += step_s) all.push_back(watts(t));
  return all;
}

DelayEstimate compare(const std::vector<double>& reference, const std::vector<double>& meter) {
  return find_delay(reference, meter, seconds(step_s), seconds(10), seconds(step_s));
}

class KnownDelay : public ::testing::TestWithParam<double> {};

TEST_P(KnownDelay, IsFoundWithinOneSampleThroughNoise) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> noise(0, 4);
  const double delay = GetParam();
  const auto parts = [](double t) { return 100 + 200 * restless_load(t); };
  const DelayEstimate found = compare(sampled(120, [&](double t) { return parts(t + 20); }),
                                      sampled(120, [&](double t) { return 40 + parts(t + 20 - delay) / 0.9 + noise(random); }));
  ASSERT_TRUE(found.delay) << found.reason;
  EXPECT_NEAR(to_seconds(found.delay->value), delay, step_s);
  EXPECT_LE(to_seconds(found.delay->low), delay);
  EXPECT_GE(to_seconds(found.delay->high), delay);
  EXPECT_GT(*found.correlation, 0.95);
}

INSTANTIATE_TEST_SUITE_P(Delay, KnownDelay, ::testing::Values(0.0, 0.1, 0.25, 1.7, 6.0, -0.8));

TEST(Delay, AFlatLoadTellsNoneAndNotZero) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> noise(0, 0.3);
  const auto flat = [&](double) { return 100 + noise(random); };
  const DelayEstimate found = compare(sampled(60, flat), sampled(60, flat));
  EXPECT_FALSE(found.delay);
  EXPECT_NE(found.reason.find("flat"), std::string::npos) << found.reason;
}

TEST(Delay, AMeterThatDoesNotFollowTheLoadTellsNone) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> any(50, 300);
  const DelayEstimate found = compare(sampled(60, restless_load), sampled(60, [&](double) { return any(random); }));
  EXPECT_FALSE(found.delay);
  EXPECT_NE(found.reason.find("does not follow"), std::string::npos) << found.reason;
}

TEST(Delay, ALoadThatRepeatsItselfTellsNoneRatherThanOneOfMany) {
  const auto square = [](double t) { return (std::llround(t * 10) + 100) % 20 < 10 ? 300.0 : 100.0; };
  std::mt19937_64 random(5);
  std::normal_distribution<double> noise(0, 10);
  const DelayEstimate found =
      compare(sampled(60, [&](double t) { return square(t); }), sampled(60, [&](double t) { return square(t - 0.5) + noise(random); }));
  EXPECT_FALSE(found.delay);
  EXPECT_NE(found.reason.find("repeats"), std::string::npos) << found.reason;
}

TEST(Delay, GapsAreLeftOutAndTooFewReadingsAreSaid) {
  auto reference = sampled(120, [](double t) { return 100 + 200 * restless_load(t); });
  auto meter = sampled(120, [](double t) { return 100 + 200 * restless_load(t - 1); });
  for (std::size_t i = 300; i < 500; ++i) reference[i] = std::nan("");
  for (std::size_t i = 700; i < 720; ++i) meter[i] = std::nan("");
  const DelayEstimate found = compare(reference, meter);
  ASSERT_TRUE(found.delay) << found.reason;
  EXPECT_NEAR(to_seconds(found.delay->value), 1, step_s);
  reference.resize(10);
  EXPECT_EQ(compare(reference, meter).reason, "too few readings to compare");
  EXPECT_FALSE(compare(std::vector<double>(200, std::nan("")), meter).delay);
}

}  // namespace
}  // namespace joulery
