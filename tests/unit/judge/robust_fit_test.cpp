// Fits whose truth is known, by hand or because the test made it.
#include "judge/robust_fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace joulery {
namespace {

TEST(RobustFit, AnExactLineIsFoundExactly) {
  std::vector<double> x, y;
  for (int i = 0; i < 20; ++i) x.push_back(i), y.push_back(3 + 2 * i);
  const auto fit = fit_huber(x, y, 2);
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->coefficients[0], 3, 1e-9);
  EXPECT_NEAR(fit->coefficients[1], 2, 1e-10);
  EXPECT_NEAR(fit->at(100), 203, 1e-7);
}

// With residuals that all lie within 1.345 scales Huber's fit is the least-squares fit: by hand, x = 0..7,
// y = x + (0.1, -0.1, -0.1, 0.1, 0.1, -0.1, -0.1, 0.1): the residuals' sum and their product with x are 0.
TEST(RobustFit, SmallResidualsCountAsInLeastSquares) {
  const double off[] = {0.1, -0.1, -0.1, 0.1, 0.1, -0.1, -0.1, 0.1};
  std::vector<double> x, y;
  for (int i = 0; i < 8; ++i) x.push_back(i), y.push_back(i + off[i]);
  const auto fit = fit_huber(x, y, 2);
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->coefficients[0], 0, 1e-9);
  EXPECT_NEAR(fit->coefficients[1], 1, 1e-9);
  // Var(slope) = [Σr² / (n - 2)] / Σ(x - x̄)² = 0.08 / 6 / 42.
  EXPECT_NEAR(fit->memory, 0, 0.2);
  const double inflation = (1 + fit->memory) / (1 - fit->memory);
  EXPECT_NEAR(fit->standard_error(1), std::sqrt(0.08 / 6 / 42 * inflation), 1e-9);
}

TEST(RobustFit, AFewWildValuesDoNotBendIt) {
  std::mt19937_64 random(2);
  std::normal_distribution<double> noise(0, 1);
  std::vector<double> x, y;
  for (int i = 0; i < 200; ++i) {
    x.push_back(100 + i);
    y.push_back(25 + 1.1 * x.back() + noise(random) + (i % 20 == 0 ? 400 : 0));
  }
  const auto fit = fit_huber(x, y, 2);
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->coefficients[1], 1.1, 0.01);
  EXPECT_NEAR(fit->at(200), 245, 1);
  EXPECT_NEAR(fit->scale, 1, 0.25);
}

// The interval of ± 1.645 standard errors holds the truth in about nine of ten worlds.
TEST(RobustFit, StandardErrorsAreThoseOfManyWorlds) {
  std::mt19937_64 random(9);
  std::normal_distribution<double> noise(0, 5);
  int inside = 0;
  constexpr int worlds = 400;
  for (int w = 0; w < worlds; ++w) {
    std::vector<double> x, y;
    for (int i = 0; i < 60; ++i) x.push_back(80 + (i * 37) % 150), y.push_back(30 + 1.1 * x.back() + noise(random));
    const auto fit = fit_huber(x, y, 2);
    ASSERT_TRUE(fit);
    inside += std::abs(fit->coefficients[1] - 1.1) <= 1.645 * fit->standard_error(1);
  }
  EXPECT_GE(inside, worlds * 0.84);
  EXPECT_LE(inside, worlds * 0.97);
}

TEST(RobustFit, AParabola) {
  std::vector<double> x, y;
  for (int i = 0; i < 30; ++i) x.push_back(100 + 10 * i), y.push_back(20 + 1.05 * x.back() + 2e-4 * x.back() * x.back());
  const auto fit = fit_huber(x, y, 3);
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->coefficients[0], 20, 1e-6);
  EXPECT_NEAR(fit->coefficients[1], 1.05, 1e-8);
  EXPECT_NEAR(fit->coefficients[2], 2e-4, 1e-10);
}

TEST(RobustFit, RefusesWhatCarriesNoLine) {
  const std::vector<double> flat(20, 5.0), y(20, 7.0), few{1, 2, 3};
  EXPECT_FALSE(fit_huber(flat, y, 2));
  EXPECT_FALSE(fit_huber(few, few, 2));
  EXPECT_EQ(fit_huber(flat, y, 2).error().code, ErrorCode::format);
}

// By hand: y = 10 everywhere but 11 in the last of ten stretches. Held out, nine stretches are told as they are, or nearly;
// the last is told 10 of 11, an error of 1/11.
TEST(CrossValidation, TellsWhatAStretchThatWasNotSeenMisses) {
  std::vector<double> x, y;
  for (int i = 0; i < 100; ++i) x.push_back(1 + i % 5), y.push_back(i < 90 ? 10 : 11);
  const auto checked = cross_validate(x, y, 2, 10);
  ASSERT_TRUE(checked);
  EXPECT_EQ(checked->stretches, 10u);
  EXPECT_NEAR(checked->stretch_error, std::sqrt(1.0 / 121 / 10), 1e-3);
  EXPECT_NEAR(checked->mean_error, 1.0 / 11 / 10, 1e-3);
}

}  // namespace
}  // namespace joulery
