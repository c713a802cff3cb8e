#include "sense/rapl/rapl_units.h"

#include <gtest/gtest.h>

namespace joulery {
namespace {

constexpr double counts = 1'000'000;
constexpr unsigned esu_14 = 14;

TEST(RaplUnits, Case7HaswellServersCountDramIn15MicroJoules) {
  EXPECT_NEAR(counts * rapl_dram_unit("GenuineIntel", 6, 63, esu_14), 15.3, 0.05);    // Haswell-EP
  EXPECT_NEAR(counts * rapl_dram_unit("GenuineIntel", 6, 60, esu_14), 61.035, 0.001);  // Haswell of desktops: from the MSR
}

TEST(RaplUnits, TheFixedUnitIsOneOverTwoToTheSixteenOnEveryModelThatHasIt) {
  for (const int model : {63, 79, 85, 87, 106}) EXPECT_DOUBLE_EQ(rapl_dram_unit("GenuineIntel", 6, model, esu_14), 1.0 / 65536) << model;
  for (const int model : {143, 207})
    EXPECT_DOUBLE_EQ(rapl_dram_unit("GenuineIntel", 6, model, esu_14), 1.0 / 16384) << model;  // Sapphire, Emerald Rapids
  EXPECT_DOUBLE_EQ(rapl_dram_unit("AuthenticAMD", 6, 63, esu_14), 1.0 / 16384);
}

TEST(RaplUnits, AZoneThatClaimsAnotherUnitIsSeen) {
  EXPECT_NEAR(*rapl_dram_unit_error("GenuineIntel", 6, 63, 262143.328850), 0.25, 0.001);
  EXPECT_FALSE(rapl_dram_unit_error("GenuineIntel", 6, 63, 65712.999613));
  EXPECT_FALSE(rapl_dram_unit_error("GenuineIntel", 6, 60, 262143.328850));
  EXPECT_FALSE(rapl_dram_unit_error("GenuineIntel", 6, 63, 0));
}

TEST(RaplUnits, ThePlatformOfSapphireAndEmeraldRapidsCountsJoules) {
  for (const int model : {143, 207}) EXPECT_DOUBLE_EQ(rapl_psys_unit("GenuineIntel", 6, model, esu_14), 1.0) << model;
  EXPECT_DOUBLE_EQ(rapl_psys_unit("GenuineIntel", 6, 158, esu_14), 1.0 / 16384);
  EXPECT_FALSE(rapl_psys_unit_error("GenuineIntel", 6, 143, 4294967295.0));
  EXPECT_NEAR(*rapl_psys_unit_error("GenuineIntel", 6, 143, 262143.328850), 16384, 1);
  EXPECT_FALSE(rapl_psys_unit_error("GenuineIntel", 6, 158, 262143.328850));
}

TEST(RaplUnits, SmallAtomsSayMicrojoules) {
  for (const int model : {55, 74, 76, 90}) EXPECT_DOUBLE_EQ(rapl_package_unit("GenuineIntel", 6, model, 5), 32e-6) << model;
  EXPECT_DOUBLE_EQ(rapl_package_unit("GenuineIntel", 6, 158, esu_14), 1.0 / 16384);
}

}  // namespace
}  // namespace joulery
