// What a configuration file says of grams and money:
//
//   [carbon]
//   place = "SE"            # as for --place
//   g_per_kwh = 334         # or "412.5 lb/MWh"; wins over the place's figure
//   pue = 1.2
//   [cost]
//   per_kwh = 0.30
//   currency = "EUR"
//
// A key that does not exist is an error which names the nearest one: a misspelt factor must not be a silent default.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "factors/carbon.h"
#include "factors/tariff.h"

namespace joulery {

struct FactorConfig {
  CarbonChoice carbon;           // place and PUE are checked when a factor is chosen
  std::optional<Tariff> tariff;
};

// A file that does not exist gives an empty configuration. Errors: permission, io, format (with line and column), usage.
Result<FactorConfig> read_factor_config(const std::string& path);
// The same from text; `name` is what errors call it.
Result<FactorConfig> parse_factor_config(std::string_view text, std::string_view name);

}  // namespace joulery
