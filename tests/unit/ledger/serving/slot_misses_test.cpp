// What costs miss: more where prompts were read, and what one slot has too much its neighbour has too little.
#include "ledger/serving/slot_misses.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace joulery {
namespace {

TEST(SlotMisses, NothingMissedIsNoVariance) {
  const std::vector<SlotMiss> slots(5);
  const MissModel model = model_misses(slots);
  const std::vector<SlotFraction> all = {{0, 1}, {1, 1}};
  EXPECT_EQ(missed_variance(model, all), 0);
}

TEST(SlotMisses, TheSameEverywhereIsTheMeanSquare) {
  // Misses of 2 J with signs + + - -: neighbours agree twice (0-1, 2-3) and differ once of 4, next neighbours always differ.
  const std::vector<SlotMiss> slots = {{true, 2, 0}, {true, 2, 0}, {true, -2, 0}, {true, -2, 0}};
  const MissModel model = model_misses(slots);
  for (const double deviation : model.deviation) EXPECT_DOUBLE_EQ(deviation, 2);
  EXPECT_DOUBLE_EQ(model.next, 0.25);
  EXPECT_DOUBLE_EQ(model.after, -0.5);
  const std::vector<SlotFraction> half = {{1, 0.5}}, pair = {{0, 1}, {1, 1}}, apart = {{0, 1}, {2, 1}}, far = {{0, 1}, {3, 1}};
  EXPECT_DOUBLE_EQ(missed_variance(model, half), 1);    // 0.5² of 2²
  EXPECT_DOUBLE_EQ(missed_variance(model, pair), 10);   // 4 + 4 + 2 of 0.25 of 4
  EXPECT_DOUBLE_EQ(missed_variance(model, far), 8);     // nothing in common
  const std::vector<SlotFraction> three = {{0, 1}, {1, 1}, {2, 1}};
  EXPECT_DOUBLE_EQ(missed_variance(model, three), 12);  // 3 of 4, two neighbours of 2 each, one next neighbour of -4
  EXPECT_DOUBLE_EQ(missed_variance(model, apart), 8);   // not adjacent in what is its own: taken to have nothing in common
}

// A prompt that is taken to be read too early is missed in one slot and too much in the next: their sum over a long answer is small.
TEST(SlotMisses, WhatIsMovedToTheNextSlotCancels) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal(0, 3);
  std::vector<SlotMiss> slots;
  double before = 0;
  for (int i = 0; i < 4000; ++i) {
    const double moved = normal(random);
    slots.push_back({true, moved - before, 0});
    before = moved;
  }
  const MissModel model = model_misses(slots);
  EXPECT_NEAR(model.next, -0.5, 0.05);
  std::vector<SlotFraction> all;
  for (std::size_t i = 0; i < 40; ++i) all.push_back({i, 1});
  EXPECT_LT(missed_variance(model, all), 0.15 * 40 * 18);  // of independent ones: 40 of 2 times 3²
}

TEST(SlotMisses, PromptsAreMissedByMore) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal(0, 1);
  std::vector<SlotMiss> slots;
  for (int i = 0; i < 4000; ++i) {
    const double prompts = i % 4 == 0 ? 50 : 0;
    slots.push_back({true, normal(random) * (prompts > 0 ? 6 : 1), prompts});
  }
  // Variances of 36 and 1 are 9.75 in the mean; the model is half way between: 22.9 and 5.4.
  const MissModel model = model_misses(slots);
  EXPECT_NEAR(model.deviation[0] * model.deviation[0], (36 + 9.75) / 2, 1.5);
  EXPECT_NEAR(model.deviation[1] * model.deviation[1], (1 + 9.75) / 2, 0.5);
  EXPECT_NEAR(model.next, 0, 0.05);
}

TEST(SlotMisses, WhatIsNotKnownIsLeftOut) {
  const std::vector<SlotMiss> slots = {{true, 1, 0}, {false, 1000, 0}, {true, -1, 0}};
  const MissModel model = model_misses(slots);
  EXPECT_DOUBLE_EQ(model.deviation[0], 1);
  EXPECT_EQ(model.deviation[1], 0);
  EXPECT_EQ(model.next, 0);
}

}  // namespace
}  // namespace joulery
