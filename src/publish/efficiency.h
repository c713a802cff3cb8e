// The efficiency report of a profile, told as text, JSON (schema joulery.efficiency/1) and one HTML page that loads nothing.
// Invariant: what is not known is told as missing, or left out, never as 0.
#pragma once

#include <string>
#include <string_view>

#include "judge/efficiency.h"
#include "publish/style.h"

namespace joulery {

std::string efficiency_text(const Efficiency& report, const TextStyle& style);
std::string efficiency_json(const Efficiency& report);
// `trace`: what it is the report of.
std::string efficiency_html(const Efficiency& report, std::string_view trace);

}  // namespace joulery
