// A report as one self-contained HTML page: no request leaves it, every picture has a table with the same numbers under it.
// Invariant: names from outside are escaped; a missing figure says "missing" and why.
#pragma once

#include <string>

#include "judge/report.h"

namespace joulery {

std::string report_html(const Report& report, const Chart& chart);

}  // namespace joulery
