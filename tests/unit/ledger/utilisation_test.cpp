#include "ledger/utilisation.h"

#include <gtest/gtest.h>

#include <numeric>

namespace joulery {
namespace {

// measure 25: HZ 100, a reading every 20 ms on one CPU, 1, 3 and 2 ticks of 10 ms: no interval above 100 %, none lost.
TEST(Utilisation, TicksThatComeTogetherAreCarriedNotCut) {
  const std::vector<MonoTime> times{{0}, {20'000'000}, {40'000'000}, {60'000'000}, {80'000'000}};
  const std::vector<double> busy{0, 0.01, 0.04, 0.06, 0.06};
  const std::vector<double> shares = utilisation(times, busy, 1);
  EXPECT_EQ(shares.size(), 5u);
  EXPECT_DOUBLE_EQ(shares[1], 0.5);
  EXPECT_DOUBLE_EQ(shares[2], 1.0);
  EXPECT_DOUBLE_EQ(shares[3], 1.0);
  EXPECT_NEAR(shares[4], 0.5, 1e-9);  // the tick that did not fit before
  EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0) * 0.02, 0.06, 1e-12);
}

TEST(Utilisation, SharesAreOfAllThreads) {
  const std::vector<MonoTime> times{{0}, {1'000'000'000}};
  const std::vector<double> busy{0, 6.0};
  EXPECT_DOUBLE_EQ(utilisation(times, busy, 8)[1], 0.75);
}

}  // namespace
}  // namespace joulery
