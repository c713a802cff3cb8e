// A fleet's report as text, as JSON (schema joulery.fleet/1, data/schemas/fleet.json) and as CSV.
// Invariant: energies are printed from whole microjoules, so that printed rows sum to the printed total.
#pragma once

#include <string>

#include "judge/fleet.h"
#include "publish/style.h"

namespace joulery {

std::string fleet_text(const FleetReport& report, const TextStyle& style);
std::string fleet_json(const FleetReport& report);
// A row each: the labels, what (consumer, idle, unattributed), joules, by quality, mean watts, grams, cost, currency, nodes.
std::string fleet_csv(const FleetReport& report);

}  // namespace joulery
