#include "core/units.h"

#include <gtest/gtest.h>

#include <clocale>

namespace joulery {
namespace {

TEST(Units, EnergyTakesPrefixesAndWattHours) {
  EXPECT_EQ(parse_energy("1.5kWh")->base_units(), 5'400'000'000'000);
  EXPECT_EQ(parse_energy("250 mJ")->base_units(), 250'000);
  EXPECT_EQ(parse_energy("3µJ")->base_units(), 3);
}

TEST(Units, MInADurationIsMinutesAndMsIsMilliseconds) {
  EXPECT_EQ(*parse_duration("90s"), *parse_duration("1m30s"));
  EXPECT_EQ(*parse_duration("100ms"), milliseconds(100));
  EXPECT_EQ(*parse_duration("1h"), *parse_duration("60min"));
}

TEST(Units, RubbishIsAnErrorThatShowsAnExample) {
  for (const char* text : {"", "W", "12", "12 J", "nanW", "infW", "1e999W", "5 W W", "12,5W"}) {
    const auto power = parse_power(text);
    ASSERT_FALSE(power) << text;
    EXPECT_EQ(power.error().code, ErrorCode::usage);
    EXPECT_NE(power.error().line().find("65W"), std::string::npos);
  }
}

TEST(Units, TheLocaleChangesNothing) {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  std::setlocale(LC_ALL, "de_DE.UTF-8");
  EXPECT_EQ(parse_energy("12.34J")->base_units(), 12'340'000);
  EXPECT_EQ(to_text(joules(12.34)), "12.3 J");
  EXPECT_EQ(to_decimal(12.34), "12.34");
  std::setlocale(LC_ALL, before.c_str());
}

TEST(Units, TextKeepsThreeDigitsAndPicksThePrefix) {
  EXPECT_EQ(to_text(joules(1500)), "1.50 kJ");
  EXPECT_EQ(to_text(joules(0)), "0 J");
  EXPECT_EQ(to_text(watts(0.25)), "250 mW");
  EXPECT_EQ(to_text(watts(999.9)), "1.00 kW");
  EXPECT_EQ(to_text(seconds(125)), "2 min 05 s");
}

TEST(Quantity, CarbonOfTenJoulesAtThreeHundredThirtyFourGrams) {
  EXPECT_NEAR(to_grams(joules(10) * grams_per_kilowatt_hour(334)), 9.278e-4, 1e-7);
  EXPECT_NEAR(to_grams_per_kilowatt_hour(pounds_per_megawatt_hour(412.5)), 187.107, 5e-4);
}

}  // namespace
}  // namespace joulery
