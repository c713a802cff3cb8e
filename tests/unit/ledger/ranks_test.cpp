// Who waits for whom, and what steps that run side by side share.
#include "ledger/ranks.h"

#include <gtest/gtest.h>

#include "ledger/step_shares.h"

namespace joulery {
namespace {

Step step(std::int64_t begin_ms, std::int64_t end_ms, std::int32_t pid, double work = 0) {
  return {{{begin_ms * 1'000'000}, {end_ms * 1'000'000}}, "step", work, pid, pid};
}
Mark point(std::int64_t at_ms, std::int32_t pid, const char* name, double value = 0) {
  return {{at_ms * 1'000'000}, pid, pid, MarkKind::point, name, value};
}

TEST(Ranks, OneProcessIsNoRank) {
  const std::vector<Step> steps{step(0, 10, 1), step(10, 20, 1)};
  EXPECT_TRUE(ranks_of(steps, {}).ranks.empty());
}

// Two rounds: rank 1 ends 4 ms and 6 ms after rank 0, which begins its next step 1 ms after rank 1's end.
TEST(Ranks, WhoArrivesLastIsWaitedFor) {
  const std::vector<Step> steps{step(0, 10, 7, 32), step(0, 14, 5, 32), step(15, 25, 7, 32), step(15, 31, 5, 32), step(32, 42, 7, 32)};
  const std::vector<Mark> points{point(0, 7, rank_point, 0), point(0, 5, rank_point, 1)};
  const Ranks all = ranks_of(steps, points);
  ASSERT_EQ(all.ranks.size(), 2U);
  EXPECT_EQ(all.rounds, 2);
  EXPECT_EQ(all.ranks[0].pid, 7);
  EXPECT_EQ(all.ranks[0].number, 0);
  EXPECT_EQ(all.ranks[0].steps.size(), 3U);
  EXPECT_EQ(all.ranks[0].work, 96);
  EXPECT_EQ(all.ranks[0].waited, milliseconds(4 + 6));
  EXPECT_EQ(all.ranks[0].last, 0);
  EXPECT_EQ(all.ranks[1].waited, Duration{});
  EXPECT_EQ(all.ranks[1].waited_for, milliseconds(10));
  EXPECT_EQ(all.ranks[1].last, 2);
}

// Rank 7 goes on 1 ms after its own end, whatever the other does: it waits no longer than that.
TEST(Ranks, WhoGoesOnDoesNotWait) {
  const std::vector<Step> steps{step(0, 10, 7), step(0, 20, 8), step(11, 21, 7), step(21, 31, 8)};
  const Ranks all = ranks_of(steps, {});
  ASSERT_EQ(all.ranks.size(), 2U);
  EXPECT_EQ(all.ranks[0].waited, milliseconds(1));
}

// All-reduce inside the step: the steps end together, and the points tell who came when.
TEST(Ranks, ThePointCollectiveTellsArrivalInsideAStep) {
  const std::vector<Step> steps{step(0, 20, 1), step(0, 20, 2)};
  const std::vector<Mark> points{point(3, 1, collective_point), point(8, 1, collective_point), point(19, 2, collective_point)};
  const Ranks all = ranks_of(steps, points);
  EXPECT_EQ(all.ranks[0].waited, milliseconds(11));
  EXPECT_EQ(all.ranks[1].waited_for, milliseconds(11));
}

// A host that burns 1 µJ a millisecond, and 1 µJ in excess that cannot be divided.
TEST(StepShares, SideBySideTheyShareEachMomentAndSumToTheUnion) {
  const auto burnt = [](Interval when) { return microjoules(when.length().base_units() / 1'000'000); };
  const std::vector<Step> steps{step(0, 10, 1), step(5, 15, 2), step(5, 15, 3), step(30, 40, 1)};
  const std::vector<Energy> shares = share_among_steps(steps, burnt);
  // 0-5: step 0 alone 5; 5-10: 5 among three is 2, 2, 1; 10-15: 5 among two is 3, 2.
  EXPECT_EQ(shares[0], microjoules(7));
  EXPECT_EQ(shares[1], microjoules(2 + 3));
  EXPECT_EQ(shares[2], microjoules(1 + 2));
  EXPECT_EQ(shares[3], microjoules(10));
}

TEST(StepShares, OneAfterTheOtherEachHasAll) {
  const auto burnt = [](Interval when) { return microjoules(when.length().base_units()); };
  const std::vector<Step> steps{step(0, 10, 1), step(10, 20, 1), step(25, 25, 1)};
  const std::vector<Energy> shares = share_among_steps(steps, burnt);
  EXPECT_EQ(shares[0], microjoules(10'000'000));
  EXPECT_EQ(shares[1], microjoules(10'000'000));
  EXPECT_EQ(shares[2], Energy{});
}

}  // namespace
}  // namespace joulery
