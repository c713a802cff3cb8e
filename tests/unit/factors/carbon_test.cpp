#include "factors/carbon.h"

#include <gtest/gtest.h>

namespace joulery {
namespace {

Estimate exactly(Energy energy) { return {energy, energy, energy}; }

CarbonFactor given(double grams_per_kwh) {
  CarbonChoice choice;
  choice.intensity = grams_per_kilowatt_hour(grams_per_kwh);
  choice.intensity_source = "--carbon-intensity";
  return *choose_carbon_factor(choice);
}

TEST(Carbon, Standards13TenJoulesAt334) {
  EXPECT_NEAR(to_grams(carbon_of(exactly(joules(10)), given(334)).grams), 9.278e-4, 1e-7);  // 10 / 3.6e6 * 334
}

TEST(Carbon, Standards7HalfAWattHourWithPue) {
  const Energy site = site_energy(kilowatt_hours(0.0005), Pue{1.135, "", ""});
  EXPECT_DOUBLE_EQ(to_kilowatt_hours(site), 0.0005675);
}

TEST(Carbon, LowAndHighComeFromTheEnergyAndPueCounts) {
  CarbonChoice choice;
  choice.place = "SE";
  choice.pue = 1.5;
  const auto factor = choose_carbon_factor(choice);
  ASSERT_TRUE(factor);
  const auto mass = carbon_of({kilowatt_hours(2), kilowatt_hours(1), kilowatt_hours(4)}, *factor);
  EXPECT_NEAR(to_grams(mass.grams), 2 * 1.5 * 40.695, 1e-9);
  EXPECT_NEAR(to_grams(mass.low), 1 * 1.5 * 40.695, 1e-9);
  EXPECT_NEAR(to_grams(mass.high), 4 * 1.5 * 40.695, 1e-9);
}

TEST(CarbonFactor, Case28NoPlaceIsTheWorldsAverageFlagged) {
  const auto factor = choose_carbon_factor({});
  ASSERT_TRUE(factor);
  EXPECT_EQ(factor->place, "World");
  EXPECT_EQ(factor->note, "no place given: the world's average");
  EXPECT_NEAR(to_grams_per_kilowatt_hour(factor->intensity), 481, 6);  // IEA 2019: 475; Our World in Data 2023: 481
  EXPECT_EQ(factor->year, 2023);
}

TEST(CarbonFactor, SaysSourceYearAndWhatItRestsOn) {
  CarbonChoice choice;
  choice.place = "SWE/stockholm county";
  const auto factor = choose_carbon_factor(choice);
  ASSERT_TRUE(factor);
  EXPECT_EQ(factor->code, "SE");
  EXPECT_EQ(factor->year, 2023);
  EXPECT_NE(factor->source.find("Our World in Data"), std::string::npos);
  EXPECT_EQ(factor->note, "no figure for 'stockholm county': the average of Sweden");
}

TEST(CarbonFactor, AnUnknownPlaceIsRefusedEvenWhereAFigureIsGiven) {
  CarbonChoice choice;
  choice.place = "ZZZ";
  EXPECT_FALSE(choose_carbon_factor(choice));
  choice.intensity = grams_per_kilowatt_hour(300);
  EXPECT_FALSE(choose_carbon_factor(choice));
}

TEST(CarbonFactor, AGivenFigureWinsAndIsTagged) {
  CarbonChoice choice;
  choice.place = "SE";
  choice.intensity = grams_per_kilowatt_hour(334);
  choice.intensity_source = "--carbon-intensity";
  const auto factor = choose_carbon_factor(choice);
  ASSERT_TRUE(factor);
  EXPECT_EQ(to_grams_per_kilowatt_hour(factor->intensity), 334);
  EXPECT_EQ(factor->place, "Sweden");
  EXPECT_EQ(factor->source, "as given by --carbon-intensity");
  EXPECT_FALSE(factor->year);
  EXPECT_EQ(given(334).place, "");
}

TEST(CarbonPue, IsTheOneGivenElseTheProvidersElseOneWithANote) {
  CarbonChoice choice;
  choice.place = "aws:eu-north-1";
  EXPECT_EQ(choose_carbon_factor(choice)->pue.value, 1.2);
  EXPECT_NE(choose_carbon_factor(choice)->pue.source.find("Green Algorithms"), std::string::npos);
  choice.pue = 1.07;
  EXPECT_EQ(choose_carbon_factor(choice)->pue.value, 1.07);
  choice = {};
  choice.place = "SE";
  EXPECT_EQ(choose_carbon_factor(choice)->pue.value, 1.0);
  EXPECT_TRUE(choose_carbon_factor(choice)->pue.note.starts_with("no PUE given"));
}

TEST(CarbonPue, BelowOneOrNoNumberIsRefused) {
  for (const double pue : {0.99, 0.0, -1.0, 11.0, std::numeric_limits<double>::quiet_NaN()}) {
    CarbonChoice choice;
    choice.pue = pue;
    EXPECT_FALSE(choose_carbon_factor(choice)) << pue;
  }
}

TEST(CarbonIntensityText, UnitsAsPeopleWriteThem) {
  const auto grams = [](const char* text) { return to_grams_per_kilowatt_hour(*parse_carbon_intensity(text)); };
  for (const char* text :
       {"334", "334 g/kWh", "334g/kWh", "334 gCO2/kWh", "334 gCO2e/kWh", "334 gCO2eq/kWh", "334 g CO2e / kWh", "334 kg/MWh"})
    EXPECT_DOUBLE_EQ(grams(text), 334) << text;
  EXPECT_DOUBLE_EQ(grams("0.334 kg/kWh"), 334);
  EXPECT_NEAR(grams("412.5lb/MWh"), 187.107, 0.0005);  // 412.5 * 453.59237 / 1000
  EXPECT_NEAR(grams("412.5 lbs/MWh"), 187.107, 0.0005);
  EXPECT_DOUBLE_EQ(grams("0"), 0);                     // one's own panels
}

TEST(CarbonIntensityText, WhatIsNotOneIsRefused) {
  for (const char* text :
       {"", "abc", "334 g", "334 kWh", "334 kWh/g", "-1", "1e9", "nan", "inf", "334 m/kWh", "334,5", "12 g/kWh/h", "334000 kg/kWh"})
    EXPECT_FALSE(parse_carbon_intensity(text)) << text;
}

}  // namespace
}  // namespace joulery
