// What the user chose about grams, money and the estimate, from flags and other settings; and the report's part of it.
#include <fmt/format.h>

#include "app/command_line.h"
#include "config/load.h"
#include "core/units.h"
#include "factors/calibration.h"
#include "factors/carbon.h"
#include "factors/factor_config.h"
#include "factors/tariff.h"

namespace joulery {
namespace {

CarbonChoice carbon_choice(const FactorChoice& choice) {
  CarbonChoice carbon;
  if (!choice.place.empty()) carbon.place = choice.place;
  carbon.intensity = choice.intensity;
  if (choice.intensity) carbon.intensity_source = "given by the user";
  carbon.pue = choice.pue;
  return carbon;
}

ReportCarbon carbon_part(const CarbonFactor& factor, const std::optional<Estimate>& energy) {
  ReportCarbon carbon;
  carbon.g_per_kwh = to_grams_per_kilowatt_hour(factor.intensity);
  carbon.pue = factor.pue.value;
  carbon.place = factor.code.empty() ? factor.place : fmt::format("{} ({})", factor.place, factor.code);
  carbon.source = factor.source;
  carbon.year = factor.year.value_or(0);
  carbon.note = factor.note;
  if (!factor.pue.note.empty()) carbon.note += (carbon.note.empty() ? "" : "; ") + factor.pue.note;
  if (!energy) {
    carbon.reason = "no energy of this run is known";
    return carbon;
  }
  const CarbonMass mass = carbon_of(*energy, factor);
  carbon.grams = to_grams(mass.grams);
  carbon.low = to_grams(mass.low);
  carbon.high = to_grams(mass.high);
  return carbon;
}

}  // namespace

Result<void> add_factors(const FactorChoice& choice, Report& report) {
  const auto factor = choose_carbon_factor(carbon_choice(choice));
  if (!factor) return std::unexpected(factor.error());
  report.carbon = carbon_part(*factor, report.energy.joules);
  if (choice.tariff.empty()) {
    report.cost_reason = "no tariff given: --tariff \"0.30 EUR/kWh\"";
    return {};
  }
  const auto tariff = parse_tariff(choice.tariff, "given by the user");
  if (!tariff) return std::unexpected(tariff.error());
  if (!report.energy.joules) {
    report.cost_reason = "no energy of this run is known";
    return {};
  }
  const Bill bill = bill_for(*report.energy.joules, *tariff, factor->pue);
  report.cost = ReportCost{to_units(bill.amount), std::string(bill.currency.code()),
                           fmt::format("{} per kWh, {}, times PUE {}", tariff->price.base_units(), tariff->source, factor->pue.value)};
  return {};
}

Result<Settings> settings_with(const FactorWords& words, const std::vector<std::string>& sets) {
  std::vector<ConfigFlag> flags;
  for (const std::string& set : sets) {
    auto flag = parse_set_flag(set);
    if (!flag) return std::unexpected(flag.error());
    flags.push_back(*std::move(flag));
  }
  if (!words.place.empty()) flags.push_back({"--place", "carbon.place", words.place});
  if (!words.intensity.empty()) flags.push_back({"--carbon-intensity", "carbon.g_per_kwh", words.intensity});
  if (words.pue) flags.push_back({"--pue", "carbon.pue", to_decimal(*words.pue)});
  if (!words.tariff.empty()) {
    const auto tariff = parse_tariff(words.tariff, "--tariff");
    if (!tariff) return std::unexpected(tariff.error());
    flags.push_back({"--tariff", "cost.per_kwh", to_decimal(tariff->price.base_units())});
    flags.push_back({"--tariff", "cost.currency", std::string(tariff->currency.code())});
  }
  return load_settings(ConfigSources::of_this_process(), flags);
}

// What was chosen is checked here, before any command runs.
Result<ReportChoices> choices_from(const Settings& settings, const std::string& estimate) {
  const auto config = factor_config(settings);
  if (!config) return std::unexpected(config.error());
  ReportChoices choices;
  choices.factors.place = config->carbon.place.value_or("");
  choices.factors.pue = config->carbon.pue;
  choices.factors.intensity = config->carbon.intensity;
  if (config->tariff)
    choices.factors.tariff = fmt::format("{} {}", to_decimal(config->tariff->price.base_units()), config->tariff->currency.code());
  if (!estimate.empty()) {
    const auto fill = parse_fill(estimate);
    if (!fill) return std::unexpected(fill.error());
    choices.fill = *fill;
  }
  Report unused;
  if (const auto known = add_factors(choices.factors, unused); !known) return std::unexpected(known.error());
  return choices;
}

}  // namespace joulery
