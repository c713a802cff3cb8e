#include "factors/carbon.h"

#include <fmt/format.h>

#include <span>

#include "factors/amount_text.h"
#include "factors/places.h"

namespace joulery {
namespace {

struct Scale {
  std::string_view unit;
  double factor;
};

constexpr Scale mass_units[] = {{"g", 1.0},    {"kg", 1e3},   {"t", 1e6}, {"mg", 1e-3}, {"lb", grams_per_pound}, {"lbs", grams_per_pound},
                                {"gram", 1.0}, {"grams", 1.0}};
constexpr Scale energy_units[] = {{"kWh", 1.0}, {"MWh", 1e3},      {"Wh", 1e-3},
                                  {"GWh", 1e6}, {"MJ", 1.0 / 3.6}, {"J", 1.0 / joules_per_kilowatt_hour}};
constexpr std::string_view gas_names[] = {"CO2eq", "CO2e", "CO2-eq", "CO2"};

std::optional<double> factor_of(std::string_view unit, std::span<const Scale> scales) {
  for (const Scale& scale : scales)
    if (scale.unit == unit) return scale.factor;
  return std::nullopt;
}

// "kgCO2e/kWh" as grams per kilowatt-hour.
std::optional<double> intensity_unit(std::string_view unit) {
  if (unit.empty()) return 1.0;
  const std::size_t slash = unit.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  std::string_view mass = trimmed(unit.substr(0, slash));
  for (const std::string_view gas : gas_names) {
    if (!mass.ends_with(gas)) continue;
    mass = trimmed(mass.substr(0, mass.size() - gas.size()));
    break;
  }
  const auto grams = factor_of(mass, mass_units), kilowatt_hours = factor_of(trimmed(unit.substr(slash + 1)), energy_units);
  if (!grams || !kilowatt_hours) return std::nullopt;
  return *grams / *kilowatt_hours;
}

Result<Pue> choose_pue(const std::optional<double>& given, const Place* place) {
  if (given && !(*given >= 1.0 && *given <= 10.0))
    return fail(ErrorCode::usage, fmt::format("not a PUE: {}", *given), "",
                "it is the energy of the whole site over that of its IT equipment: 1.0 or more, 1.1 to 1.6 as a rule");
  if (given) return Pue{*given, "as given", ""};
  if (place != nullptr && place->pue > 0) return Pue{place->pue, citation(place->pue_source), ""};
  return Pue{1.0, "", "no PUE given: cooling and power supply of the site are not included"};
}

CarbonFactor factor_of_place(const PlaceMatch& match) {
  const Place& place = *match.place;
  return {place.intensity, std::string(place.name), std::string(place.code), citation(place.source), place.year, match.note, {}};
}

}  // namespace

Result<CarbonFactor> choose_carbon_factor(const CarbonChoice& choice) {
  CarbonFactor factor = factor_of_place({&world_average(), "no place given: the world's average"});
  const Place* place = nullptr;
  if (choice.place) {
    const auto match = find_place(*choice.place);
    if (!match) return std::unexpected(match.error());
    place = match->place;
    factor = factor_of_place(*match);
  }
  if (choice.intensity) {
    factor.intensity = *choice.intensity;
    factor.source = choice.intensity_source.empty() ? "as given" : "as given by " + choice.intensity_source;
    factor.year.reset();
    factor.note.clear();
    if (place == nullptr) factor.place = factor.code = "";
  }
  auto pue = choose_pue(choice.pue, place);
  if (!pue) return std::unexpected(pue.error());
  factor.pue = *std::move(pue);
  return factor;
}

Energy site_energy(Energy it_energy, const Pue& pue) { return it_energy * pue.value; }

CarbonMass carbon_of(const Estimate& it_energy, const CarbonFactor& factor) {
  const auto grams_of = [&](Energy energy) { return site_energy(energy, factor.pue) * factor.intensity; };
  return {grams_of(it_energy.value), grams_of(it_energy.low), grams_of(it_energy.high)};
}

Result<CarbonIntensity> parse_carbon_intensity(std::string_view text) {
  constexpr double highest = 10'000;  // g/kWh; the worst plants give off under 2 kg
  constexpr std::string_view examples = "write for example 334 g/kWh or 412.5 lb/MWh";
  const auto amount = parse_amount(text);
  const auto scale = amount ? intensity_unit(amount->unit) : std::nullopt;
  if (!scale) return fail(ErrorCode::usage, fmt::format("not a carbon intensity: '{}'", text), "", std::string(examples));
  const double grams = amount->number * *scale;
  if (!(grams >= 0 && grams <= highest))
    return fail(ErrorCode::usage, fmt::format("a carbon intensity of {:g} g/kWh cannot be", grams), std::string(text),
                std::string(examples));
  return grams_per_kilowatt_hour(grams);
}

}  // namespace joulery
