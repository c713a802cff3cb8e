// An energy counter against the integral of power of the same device, over the first seconds of a run: a counter that stands
// still, runs at a wrong rate or counts in another unit is found before its joules are taken.
//
// Rule: the counter counts, and where the two differ by more than their intervals the ledger says so (counters were right where
// averaged power was 1.7 times too high). A counter that differs from the integral by more than a factor of three, or that does
// not move while power is drawn, is not believed: it stands behind the integral in order of preference.
#pragma once

#include <string>
#include <vector>

#include "ledger/timeline.h"

namespace joulery {

inline constexpr double believable_factor = 3;
inline constexpr Duration start_up = milliseconds(5000);

// Moves counters that are not believed behind the gauge that shows it; a flag for each: "counter-not-believed: node/gpu/0: ...".
std::vector<std::string> cross_check_counters(Timeline& timeline);

}  // namespace joulery
