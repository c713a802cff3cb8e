#include "factors/factor_config.h"

#include <fmt/format.h>

#include <utility>

#include "core/units.h"

namespace joulery {
namespace {

// A value's own error, with where it was set instead of the text.
std::unexpected<Error> at(Error error, const Setting& setting) {
  error.where = setting.origin.describe();
  return std::unexpected(std::move(error));
}

// A number of g/kWh, or a text with a unit.
Result<std::optional<CarbonIntensity>> intensity_in(const Settings& settings) {
  const Setting* setting = settings.find("carbon.g_per_kwh");
  if (!setting) return std::optional<CarbonIntensity>();
  const auto number = settings.number("carbon.g_per_kwh");
  const auto text = settings.text("carbon.g_per_kwh");
  if (!number && !text) return std::unexpected(number.error());
  auto intensity = parse_carbon_intensity(number ? to_decimal(**number) : **text);
  if (!intensity) return at(intensity.error(), *setting);
  return *intensity;
}

Result<CarbonChoice> carbon_in(const Settings& settings) {
  CarbonChoice choice;
  auto place = settings.text("carbon.place");
  if (!place) return std::unexpected(place.error());
  const auto intensity = intensity_in(settings);
  if (!intensity) return std::unexpected(intensity.error());
  const auto pue = settings.number("carbon.pue");
  if (!pue) return std::unexpected(pue.error());
  choice.place = *std::move(place);
  choice.intensity = *intensity;
  if (choice.intensity) choice.intensity_source = settings.find("carbon.g_per_kwh")->origin.name;
  choice.pue = *pue;
  return choice;
}

Result<std::optional<Tariff>> tariff_in(const Settings& settings) {
  const Setting *price = settings.find("cost.per_kwh"), *currency = settings.find("cost.currency");
  if (!price && !currency) return std::nullopt;
  if (!price || !currency)
    return fail(ErrorCode::usage, "[cost] needs both 'per_kwh' and 'currency'", (price ? price : currency)->origin.describe());
  const auto number = settings.number("cost.per_kwh");
  if (!number) return std::unexpected(number.error());
  const auto code = settings.text("cost.currency");
  if (!code) return std::unexpected(code.error());
  auto tariff = parse_tariff(fmt::format("{} {}", to_decimal(**number), **code), price->origin.name);
  if (!tariff) return at(tariff.error(), *price);
  return *std::move(tariff);
}

}  // namespace

Result<FactorConfig> factor_config(const Settings& settings) {
  auto carbon = carbon_in(settings);
  if (!carbon) return std::unexpected(carbon.error());
  auto tariff = tariff_in(settings);
  if (!tariff) return std::unexpected(tariff.error());
  return FactorConfig{*std::move(carbon), *std::move(tariff)};
}

}  // namespace joulery
