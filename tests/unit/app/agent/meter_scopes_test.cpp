#include "app/agent/meter_scopes.h"

#include <gtest/gtest.h>

#include "app/agent/meter_socket.h"

namespace joulery {
namespace {

TEST(MeterScopes, KnowUsersAndGroupsByNameAndNumber) {
  Settings settings;
  settings.set("agent.meters.read_all", {std::vector<std::string>{"root", "@4242", "no-such-user-here", "@no-such-group-here"}, {}});
  settings.set("agent.meters.read_own", {std::vector<std::string>{"1234"}, {}});
  std::vector<std::string> warnings;
  const auto scopes = MeterScopes::from(settings, warnings);
  ASSERT_TRUE(scopes);
  EXPECT_EQ(warnings.size(), 2u);
  EXPECT_EQ(scopes->of({0, {}}), MeterScope::read_all);
  EXPECT_EQ(scopes->of({77, {5, 4242}}), MeterScope::read_all);
  EXPECT_EQ(scopes->of({1234, {5}}), MeterScope::read_own);
  EXPECT_EQ(scopes->of({77, {1234}}), MeterScope::refused) << "a user's number is no group's";
}

TEST(MeterScopes, EveryoneIsReadOwnWhereNothingIsSet) {
  std::vector<std::string> warnings;
  const auto scopes = MeterScopes::from(Settings(), warnings);
  ASSERT_TRUE(scopes);
  EXPECT_EQ(scopes->of({1000, {1000}}), MeterScope::read_own);
  EXPECT_EQ(scopes->of({0, {0}}), MeterScope::read_all);
}

TEST(MeterScopes, RefuseAnIntervalThatMakesNoSense) {
  Settings settings;
  settings.set("agent.meters.least_interval", {std::string("0s"), {}});
  std::vector<std::string> warnings;
  EXPECT_EQ(MeterScopes::from(settings, warnings).error().code, ErrorCode::usage);
}

TEST(MeterScopes, RoundAsTheUnitAllows) {
  Channel fine, coarse, wide;
  fine.unit = 1.0 / 16384;           // 61 µJ, a register of RAPL
  coarse.unit = 1;                   // whole joules: nothing to hide
  wide.unit = 1e-6;                  // a counter beyond 2^63 keeps its bits
  const std::vector<Channel> channels{fine, coarse, wide};
  std::vector<Reading> readings(3);
  readings[0].raw = 1000;
  readings[1].raw = 7;
  readings[2].raw = static_cast<std::int64_t>(18'446'744'073'709'551'615u);
  round_readings(MeterScope::read_own, channels, readings);
  EXPECT_EQ(readings[0].raw, 984);   // 164 counts are 10.01 mJ, the least that hides 10 mJ; 6 of them
  EXPECT_EQ(readings[1].raw, 7);
  EXPECT_EQ(static_cast<std::uint64_t>(readings[2].raw), 18'446'744'073'709'550'000u);
}

TEST(TokenBucket, GivesSoManyAndThenOneAPeriod) {
  TokenBucket bucket(2, milliseconds(100));
  const MonoTime begin{5'000'000'000};
  EXPECT_TRUE(bucket.take(begin));
  EXPECT_TRUE(bucket.take(begin));
  EXPECT_FALSE(bucket.take(begin + milliseconds(50)));
  EXPECT_TRUE(bucket.take(begin + milliseconds(101)));
  EXPECT_FALSE(bucket.take(begin + milliseconds(150)));
  EXPECT_FALSE(bucket.full(begin + milliseconds(200)));
  EXPECT_TRUE(bucket.full(begin + milliseconds(400)));
}

}  // namespace
}  // namespace joulery
