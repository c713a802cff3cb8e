#include "factors/tariff.h"

#include <gtest/gtest.h>

#include "factors/factor_config.h"

namespace joulery {
namespace {

TEST(Tariff, IsWrittenInSeveralWays) {
  for (const char* text :
       {"0.30EUR", "0.30 EUR", "0.30 EUR/kWh", "0.30eur/kWh", "EUR 0.30", "EUR0.30/kWh", "300 EUR/MWh", " 0.3 EUR per kWh "}) {
    const auto tariff = parse_tariff(text, "--tariff");
    ASSERT_TRUE(tariff) << text;
    EXPECT_DOUBLE_EQ(tariff->price.base_units(), 0.30) << text;
    EXPECT_EQ(tariff->currency.code(), "EUR");
  }
}

TEST(Tariff, WhatIsNotOneIsRefused) {
  for (const char* text :
       {"", "EUR", "0.30", "0.30 EUR/day", "EUR 0.30 EUR", "-0.30EUR", "nan EUR", "0.30 EU", "0.30 EURO", "0,30 EUR", "1e300EUR"})
    EXPECT_FALSE(parse_tariff(text, "")) << text;
}

TEST(Tariff, AMisspeltCurrencyNamesTheNearest) {
  const std::string line = parse_tariff("0.30 EURO", "").error().line();
  EXPECT_TRUE(line.starts_with("unknown currency 'EURO' (write an ISO 4217 code such as EUR,")) << line;
}

TEST(Tariff, CostIsEnergyTimesPueTimesPrice) {
  const Bill bill = bill_for({kilowatt_hours(2), kilowatt_hours(1), kilowatt_hours(3)}, *parse_tariff("0.30EUR", ""), Pue{1.5, "", ""});
  EXPECT_NEAR(to_units(bill.amount), 0.90, 1e-12);  // 2 kWh * 1.5 * 0.30
  EXPECT_NEAR(to_units(bill.low), 0.45, 1e-12);
  EXPECT_NEAR(to_units(bill.high), 1.35, 1e-12);
  EXPECT_EQ(bill.currency.code(), "EUR");
}

TEST(FactorConfig, ReadsBothSections) {
  const auto config =
      parse_factor_config("[carbon]\nplace = \"SE\"\ng_per_kwh = 334\npue = 1\n[cost]\nper_kwh = 0.30\ncurrency = \"EUR\"\n", "c.toml");
  ASSERT_TRUE(config) << config.error().line();
  EXPECT_EQ(config->carbon.place, "SE");
  EXPECT_EQ(to_grams_per_kilowatt_hour(*config->carbon.intensity), 334);
  EXPECT_EQ(config->carbon.intensity_source, "c.toml");
  EXPECT_EQ(config->carbon.pue, 1.0);
  EXPECT_DOUBLE_EQ(config->tariff->price.base_units(), 0.30);
  EXPECT_EQ(config->tariff->source, "c.toml");
}

TEST(FactorConfig, AFigureMayHaveAUnit) {
  const auto config = parse_factor_config("carbon.g_per_kwh = \"412.5 lb/MWh\"", "c.toml");
  ASSERT_TRUE(config) << config.error().line();
  EXPECT_NEAR(to_grams_per_kilowatt_hour(*config->carbon.intensity), 187.107, 0.0005);
}

TEST(FactorConfig, EmptyAndMissingFilesAreFine) {
  EXPECT_TRUE(parse_factor_config("", "c.toml"));
  const auto config = read_factor_config("/no/such/folder/config.toml");
  ASSERT_TRUE(config);
  EXPECT_FALSE(config->carbon.place || config->carbon.intensity || config->carbon.pue || config->tariff);
}

TEST(FactorConfig, AFolderInItsPlaceIsAnError) { EXPECT_FALSE(read_factor_config("/tmp")); }

TEST(FactorConfig, ErrorsSayWhereAndWhatInstead) {
  const auto line = [](const char* text) {
    const auto config = parse_factor_config(text, "c.toml");
    return config ? std::string("accepted") : config.error().line();
  };
  EXPECT_EQ(line("[carbon]\nplaec = \"SE\""), "unknown key 'plaec' in the configuration: c.toml, line 2, column 1 (did you mean 'place'?)");
  EXPECT_EQ(line("[crabon]\nplace = \"SE\""),
            "unknown key 'crabon' in the configuration: c.toml, line 1, column 2 (did you mean 'carbon'?)");
  EXPECT_EQ(line("[carbon]\nplace = 3"), "'place' must be a text: c.toml, line 2, column 9");
  EXPECT_EQ(line("carbon = 3"), "'carbon' must be a section, [carbon]: c.toml, line 1, column 10");
  EXPECT_EQ(line("[carbon]\npue = \"1.2\""), "'pue' must be a number: c.toml, line 2, column 7");
  EXPECT_EQ(line("[cost]\nper_kwh = 0.3"), "[cost] needs both 'per_kwh' and 'currency': c.toml, line 1, column 1");
  EXPECT_TRUE(line("[carbon]\ng_per_kwh = \"fast\"").starts_with("not a carbon intensity: 'fast': c.toml, line 2"));
  EXPECT_TRUE(line("[carbon\n").starts_with("cannot read the configuration"));
}

}  // namespace
}  // namespace joulery
