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

Settings carbon_and_cost() {
  Settings settings;
  settings.set("carbon.place", {std::string("SE"), {"c.toml", 2}});
  settings.set("carbon.g_per_kwh", {std::int64_t{334}, {"c.toml", 3}});
  settings.set("carbon.pue", {std::int64_t{1}, {"c.toml", 4}});
  settings.set("cost.per_kwh", {0.30, {"c.toml", 6}});
  settings.set("cost.currency", {std::string("EUR"), {"c.toml", 7}});
  return settings;
}

TEST(FactorConfig, ReadsBothSections) {
  const auto config = factor_config(carbon_and_cost());
  ASSERT_TRUE(config) << config.error().line();
  EXPECT_EQ(config->carbon.place, "SE");
  EXPECT_EQ(to_grams_per_kilowatt_hour(*config->carbon.intensity), 334);
  EXPECT_EQ(config->carbon.intensity_source, "c.toml");
  EXPECT_EQ(config->carbon.pue, 1.0);
  EXPECT_DOUBLE_EQ(config->tariff->price.base_units(), 0.30);
  EXPECT_EQ(config->tariff->source, "c.toml");
}

TEST(FactorConfig, AFigureMayHaveAUnit) {
  Settings settings;
  settings.set("carbon.g_per_kwh", {std::string("412.5 lb/MWh"), {"c.toml", 1}});
  const auto config = factor_config(settings);
  ASSERT_TRUE(config) << config.error().line();
  EXPECT_NEAR(to_grams_per_kilowatt_hour(*config->carbon.intensity), 187.107, 0.0005);
}

TEST(FactorConfig, SettingsThatSayNothingAreFine) {
  const auto config = factor_config(Settings());
  ASSERT_TRUE(config);
  EXPECT_FALSE(config->carbon.place || config->carbon.intensity || config->carbon.pue || config->tariff);
}

TEST(FactorConfig, ErrorsSayWhere) {
  Settings settings = carbon_and_cost();
  settings.set("carbon.g_per_kwh", {std::string("fast"), {"c.toml", 3}});
  EXPECT_TRUE(factor_config(settings).error().line().starts_with("not a carbon intensity: 'fast': c.toml:3"));
  settings = carbon_and_cost();
  settings.remove("cost.currency");
  EXPECT_EQ(factor_config(settings).error().line(), "[cost] needs both 'per_kwh' and 'currency': c.toml:6");
  settings = carbon_and_cost();
  settings.set("cost.currency", {std::string("EURO"), {"--set", 0}});
  EXPECT_FALSE(factor_config(settings));
}

}  // namespace
}  // namespace joulery
