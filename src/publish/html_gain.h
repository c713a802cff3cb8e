// Energy against what it bought, as HTML: for each figure of success that was reported more than once a curve over the energy used,
// and the table with the same numbers. Invariant: the curve and the table are drawn from the same points.
#pragma once

#include <string>

#include "judge/report.h"

namespace joulery {

// "" where no figure was reported more than once.
std::string gain_section(const Report& report);

}  // namespace joulery
