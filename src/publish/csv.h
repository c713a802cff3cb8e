// Tables as comma-separated values: quoting of RFC 4180, '.' as the decimal point, UTF-8, lines ended by LF.
// Invariant: a missing value is an empty field with its reason in the `reason` column; no text field can start a formula in a
// spreadsheet (=, +, -, @ and TAB at its front get an apostrophe before them).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "judge/report.h"

namespace joulery {

// One text field, quoted where it must be.
std::string csv_field(std::string_view text);

// One number, "" where there is none (or where it is not finite).
std::string csv_number(const std::optional<double>& value);

// The components of a report as rows under a header:
// path,label,joules,low,high,share,mean_watts,peak_watts,quality,meter,reason,overlap
std::string report_csv(const Report& report);

}  // namespace joulery
