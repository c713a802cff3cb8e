// Numbers as people and machines read them, beyond core/units.h: exact joules, shares, plain significant digits.
// Invariant: the decimal point is '.', whatever the locale; nothing here prints a number for a missing value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/quantity.h"

namespace joulery {

// Joules with six decimals straight from the integer, so that printed parts sum to the printed whole: "12.345678", "-0.000001".
std::string exact_joules(Energy energy);

// Three significant digits in plain decimals, thousands apart from 1000 on: "0.00214", "6.24", "614", "76,800"; "4.2e-09" below 1e-7.
std::string compact(double value);

// A whole number with thousands apart: "76,800".
std::string grouped(std::int64_t value);

// A share of 0..1 as "49.6 %", "0.4 %", "<0.1 %", "100 %".
std::string percent(double share);

// "3.42 Wh", "1.20 kWh": the same energy in the unit of bills.
std::string watt_hours(Energy energy);

// `text` where there is a value, "missing" where there is none.
std::string or_missing(const std::optional<Energy>& energy);
std::string or_missing(const std::optional<double>& watts);  // power in watts

// "1 gap", "2 gaps".
std::string counted(std::int64_t count, std::string_view noun);

}  // namespace joulery
