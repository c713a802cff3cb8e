// The processor's ticks as monotonic time.
#include "watch/tick_clock.h"

#include <gtest/gtest.h>
#include <time.h>

#include <vector>

#ifdef __x86_64__
#include <x86intrin.h>
#endif

namespace joulery {
namespace {

void rest(long ms) {
  const timespec time{0, ms * 1000000};
  nanosleep(&time, nullptr);
}

TEST(TickClock, RubbishIsNoTime) {
  TickClock clock;
  rest(1);
  clock.look();
  EXPECT_FALSE(clock.time_of(~std::uint64_t{0}));
}

#ifdef __x86_64__
TEST(TickClock, ATickLiesBetweenTheTimesReadAroundIt) {
  TickClock clock;
  for (int i = 0; i < 20; ++i) {
    rest(2);
    const MonoTime before = mono_now();
    const std::uint64_t tick = __rdtsc();
    const MonoTime after = mono_now();
    rest(1);
    clock.look();
    const auto time = clock.time_of(tick);
    ASSERT_TRUE(time);
    EXPECT_GE(time->ns, before.ns - 20000) << "20 us of leave: a look may have been disturbed";
    EXPECT_LE(time->ns, after.ns + 20000);
  }
}

// A program's marks come in several lots, each after a look of its own: their order must hold between lots.
TEST(TickClock, ALookDoesNotChangeWhatWasTold) {
  TickClock clock;
  std::vector<std::uint64_t> ticks;
  std::vector<std::int64_t> told;
  for (int i = 0; i < 3000; ++i) {
    ticks.push_back(__rdtsc());
    clock.look();
    const auto time = clock.time_of(ticks.back());
    told.push_back(time ? time->ns : told.empty() ? 0 : told.back());
    if (i > 0) { ASSERT_GE(told[i], told[i - 1]); }
  }
  for (int i = 2500; i < 3000; ++i) EXPECT_EQ(clock.time_of(ticks[i])->ns, told[i]);
}

TEST(TickClock, ATickAfterTheLatestLookIsNoTimeYet) {
  TickClock clock;
  rest(1);
  clock.look();
  const std::uint64_t tick = __rdtsc();
  EXPECT_FALSE(clock.time_of(tick + 1000000000));
  rest(1);
  clock.look();
  EXPECT_TRUE(clock.time_of(tick));
}
#endif

}  // namespace
}  // namespace joulery
