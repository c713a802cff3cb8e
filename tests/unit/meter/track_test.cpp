#include "meter/track.h"

#include <gtest/gtest.h>

namespace joulery {
namespace {

MonoTime at(double s) { return MonoTime{} + seconds(s); }

// 10 J/s for two seconds, nothing for one, 20 J in the last half second; counts are microjoules.
class TrackWalkTest : public testing::Test {
 protected:
  std::vector<MonoTime> times{at(1), at(2), at(3), at(4), at(4.5)};
  Track track{times, {0, 10'000'000, 20'000'000, 20'000'000, 40'000'000}, 1e-6, Accuracy{}, Quality::measured, {}};
};

TEST_F(TrackWalkTest, TellsTheJoulesSoFarOnAndBetweenReadings) {
  Track::Walk walk(track, at(0));
  const std::pair<double, double> expected[] = {{1, 0}, {1.5, 5}, {2, 10}, {2, 10}, {2.25, 12.5}, {3.5, 20}, {4.25, 30}, {4.5, 40}};
  for (const auto& [time, joules] : expected) EXPECT_NEAR(walk.joules(at(time)), joules, 1e-9) << time;
}

TEST_F(TrackWalkTest, StandsStillOutsideOfTheReadings) {
  Track::Walk walk(track, at(0));
  EXPECT_EQ(walk.joules(at(0)), 0);
  EXPECT_EQ(walk.joules(at(0.5)), 0);
  EXPECT_NEAR(walk.joules(at(100)), 40, 1e-9);
  EXPECT_NEAR(walk.joules(at(200)), 40, 1e-9);
}

TEST_F(TrackWalkTest, MaySkipReadings) {
  Track::Walk walk(track, at(0));
  EXPECT_NEAR(walk.joules(at(4.25)), 30, 1e-9);
}

TEST_F(TrackWalkTest, AgreesWithPositionToTheMicrojoule) {
  Track::Walk walk(track, at(0));
  for (double s = 0.5; s < 5; s += 0.013) EXPECT_NEAR(walk.joules(at(s)), to_joules(track.position(at(s))), 0.51e-6) << s;
}

TEST_F(TrackWalkTest, MayBeginAnywhere) {
  for (const double from : {0.0, 1.0, 1.5, 3.0, 4.5, 9.0}) {
    Track::Walk walk(track, at(from));
    for (double s = from; s < from + 2; s += 0.25) EXPECT_NEAR(walk.joules(at(s)), to_joules(track.position(at(s))), 0.51e-6) << from;
  }
}

TEST(TrackWalk, OfATrackWithoutReadingsIsZero) {
  const std::vector<MonoTime> times{at(1), at(2)};
  const Track nothing(times, {}, 1e-6, Accuracy{}, Quality::missing, {});
  Track::Walk walk(nothing, at(0));
  EXPECT_EQ(walk.joules(at(1.5)), 0);
  EXPECT_EQ(walk.joules(at(3)), 0);
}

}  // namespace
}  // namespace joulery
