// What the user chose about grams, money and the estimate, from flags and the configuration file; and the report's part of it.
#include <fmt/format.h>

#include "app/command_line.h"
#include "app/user_folders.h"
#include "factors/calibration.h"
#include "factors/carbon.h"
#include "factors/factor_config.h"
#include "factors/tariff.h"

namespace joulery {
namespace {

std::string config_file() { return user_config_folder() + "/joulery.toml"; }

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

Result<void> add_factors(const FactorChoice& choice, const std::optional<Estimate>& wall, Report& report) {
  const std::optional<Estimate>& energy = wall ? wall : report.energy.joules;
  const std::string boundary = wall ? "wall" : report.energy.boundary;
  const auto factor = choose_carbon_factor(carbon_choice(choice));
  if (!factor) return std::unexpected(factor.error());
  report.carbon = carbon_part(*factor, energy);
  report.carbon->boundary = boundary;
  if (choice.tariff.empty()) {
    report.cost_reason = "no tariff given: --tariff \"0.30 EUR/kWh\"";
    return {};
  }
  const auto tariff = parse_tariff(choice.tariff, "given by the user");
  if (!tariff) return std::unexpected(tariff.error());
  if (!energy) {
    report.cost_reason = "no energy of this run is known";
    return {};
  }
  const Bill bill = bill_for(*energy, *tariff, factor->pue);
  report.cost = ReportCost{to_units(bill.amount), std::string(bill.currency.code()),
                           fmt::format("{} per kWh, {}, times PUE {}", tariff->price.base_units(), tariff->source, factor->pue.value),
                           boundary};
  return {};
}

// Flags win over the file; what was chosen is checked here, before any command runs.
Result<ReportChoices> choices_from(const FactorWords& words) {
  const auto config = read_factor_config(config_file());
  if (!config) return std::unexpected(config.error());
  ReportChoices choices;
  choices.factors.place = !words.place.empty() ? words.place : config->carbon.place.value_or("");
  choices.factors.pue = words.pue ? words.pue : config->carbon.pue;
  choices.factors.tariff = words.tariff;
  if (words.tariff.empty() && config->tariff)
    choices.factors.tariff = fmt::format("{} {}", config->tariff->price.base_units(), config->tariff->currency.code());
  if (!words.intensity.empty()) {
    const auto intensity = parse_carbon_intensity(words.intensity);
    if (!intensity) return std::unexpected(intensity.error());
    choices.factors.intensity = *intensity;
  } else if (words.place.empty()) {
    choices.factors.intensity = config->carbon.intensity;  // a place on the command line outranks a figure in the file
  }
  if (!words.estimate.empty()) {
    const auto fill = parse_fill(words.estimate);
    if (!fill) return std::unexpected(fill.error());
    choices.fill = *fill;
  }
  Report unused;
  if (const auto known = add_factors(choices.factors, std::nullopt, unused); !known) return std::unexpected(known.error());
  return choices;
}

}  // namespace joulery
