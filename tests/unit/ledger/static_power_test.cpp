#include "ledger/attribution/static_power.h"

#include <gtest/gtest.h>

#include <random>

namespace joulery {
namespace {

// A component that burns `idle` W and `per_use` W more at full use, as a noisy sensor tells it.
class Burner {
 public:
  explicit Burner(double idle) : idle_(idle) {}
  void watch(StaticPower& learner, double utilisation, int ticks, double idle_change = 0) {
    for (int i = 0; i < ticks; ++i) learner.observe(utilisation, watts(idle_ + idle_change + 120 * utilisation + noise_(random_)));
  }

 private:
  double idle_;
  std::mt19937 random_{7};
  std::normal_distribution<double> noise_{0, 0.5};
};

TEST(StaticPower, SaysNothingBeforeAQuietMoment) {
  StaticPower learner;
  Burner node(40);
  EXPECT_FALSE(learner.value());
  node.watch(learner, 0.9, 7200);
  EXPECT_FALSE(learner.value()) << "two hours of load tell nothing of idle";
  node.watch(learner, 0.01, 9);
  EXPECT_FALSE(learner.value());
  node.watch(learner, 0.01, 1);
  EXPECT_TRUE(learner.value());
}

TEST(StaticPower, HoldsThroughHoursOfLoadAndAfterIt) {
  StaticPower learner;
  Burner node(40);
  node.watch(learner, 0.01, 60);
  node.watch(learner, 0.5, 60);
  const double before = to_watts(*learner.value());
  EXPECT_NEAR(before, 40, 0.8);
  node.watch(learner, 1.0, 4 * 3600);
  EXPECT_EQ(to_watts(*learner.value()), before);
  node.watch(learner, 0.01, 60);
  EXPECT_NEAR(to_watts(*learner.value()), 40, 0.8);
}

TEST(StaticPower, TakesTheLittleUseOfQuietMomentsOff) {
  StaticPower learner;
  Burner node(40);
  node.watch(learner, 0.04, 100);   // 44.8 W
  node.watch(learner, 0.8, 100);    // 136 W: the slope is 120 W
  EXPECT_NEAR(to_watts(*learner.value()), 40, 0.8);
}

TEST(StaticPower, FollowsWhatIsDifferentAfterwards) {
  StaticPower learner;
  Burner node(40);
  node.watch(learner, 0.01, 300);
  node.watch(learner, 0.01, 300, 10);  // a disk was added
  EXPECT_NEAR(to_watts(*learner.value()), 51.2, 1);
}

TEST(StaticPower, SingleReadingsDoNotMoveIt) {
  StaticPower learner;
  Burner node(40);
  node.watch(learner, 0.0, 100);
  for (int i = 0; i < 10; ++i) learner.observe(0, watts(0));
  for (int i = 0; i < 10; ++i) learner.observe(0, watts(400));
  learner.observe(0, watts(-5));
  learner.observe(2, watts(40));
  EXPECT_NEAR(to_watts(*learner.value()), 40, 0.5);
}

TEST(StaticPower, IsKeptForTheNextStart) {
  StaticPower learner, again;
  Burner node(40);
  node.watch(learner, 0.02, 50);
  node.watch(learner, 0.7, 50);
  ASSERT_TRUE(again.restore(learner.to_text()));
  EXPECT_NEAR(to_watts(*again.value()), to_watts(*learner.value()), 0.01);
  EXPECT_FALSE(again.restore("0.01 watts"));
  EXPECT_FALSE(again.restore("nan nan"));
  EXPECT_TRUE(again.restore(""));
}

}  // namespace
}  // namespace joulery
