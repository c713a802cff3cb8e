// The power limits of a machine: who asks sees what is in force, what may be asked for, who holds it, and why one cannot be set.
#pragma once

#include <span>
#include <string>

#include "core/result.h"
#include "publish/style.h"
#include "sense/agent/power_limit.h"

namespace joulery {

// `none`: why there is none, where there is none.
// A table; limits that cannot be set are followed by the reasons and what mends them, each once.
std::string power_limits_text(std::span<const PowerLimit> limits, const Error& none, const TextStyle& style);
// Schema joulery.power/1 (data/schemas/power.json).
std::string power_limits_json(std::span<const PowerLimit> limits, const Error& none);

}  // namespace joulery
