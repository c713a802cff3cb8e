#include "ledger/split.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <numeric>

namespace joulery {
namespace {

// measure 22: active 40 J; CPU seconds 6, 3, 1.
TEST(Split, FortyJoulesBySixThreeOne) {
  const std::vector<double> cpu{6, 3, 1};
  EXPECT_EQ(split(joules(40), cpu), (std::vector<Energy>{joules(24), joules(12), joules(4)}));
}

TEST(Split, TheOddMicrojouleGoesToTheLargestRemainder) {
  const std::vector<double> thirds{1, 1, 1};
  EXPECT_EQ(split(microjoules(10), thirds), (std::vector<Energy>{microjoules(4), microjoules(3), microjoules(3)}));
}

TEST(Split, NothingToGoByGoesToTheLast) {
  const std::vector<double> none{0, 0};
  EXPECT_EQ(split(joules(5), none), (std::vector<Energy>{Energy{}, joules(5)}));
  EXPECT_TRUE(split(joules(5), {}).empty());
}

RC_GTEST_PROP(SplitLaw, SharesSumToTheWholeAndKeepTheirProportion, ()) {
  const auto whole = microjoules(*rc::gen::inRange<std::int64_t>(0, 9'000'000'000'000'000));
  const auto raw = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::uint32_t>>(rc::gen::arbitrary<std::uint32_t>()));
  const std::vector<double> weights(raw.begin(), raw.end());
  const std::vector<Energy> shares = split(whole, weights);
  Energy sum;
  for (const Energy share : shares) sum += share;
  RC_ASSERT(sum == whole);
  const long double total = std::accumulate(weights.begin(), weights.end(), 0.0L);
  for (std::size_t i = 0; total > 0 && i < shares.size(); ++i) {
    const long double exact = static_cast<long double>(whole.base_units()) * (weights[i] / total);
    RC_ASSERT(std::abs(static_cast<long double>(shares[i].base_units()) - exact) <= 1.01L);
  }
}

}  // namespace
}  // namespace joulery
