// What the settings say of grams and money:
//
//   [carbon]
//   place = "SE"            # as for --place
//   g_per_kwh = 334         # or "412.5 lb/MWh"; wins over the place's figure
//   pue = 1.2
//   [cost]
//   per_kwh = 0.30
//   currency = "EUR"
#pragma once

#include <optional>

#include "config/settings.h"
#include "core/result.h"
#include "factors/carbon.h"
#include "factors/tariff.h"

namespace joulery {

struct FactorConfig {
  CarbonChoice carbon;           // place and PUE are checked when a factor is chosen
  std::optional<Tariff> tariff;
};

// Sections that say nothing give an empty configuration. Errors: usage, with the key's origin.
Result<FactorConfig> factor_config(const Settings& settings);

}  // namespace joulery
