// From a ledger to the picture of a run: power over time by component, phases, steps and marks as bands.
#pragma once

#include "judge/make_report.h"

namespace joulery {

// At most `slots` equal slots over the run, none shorter than the sampling interval. At most `bands` step bands: where
// there are more steps, neighbours are joined into one band that says how many it holds.
Chart make_chart(const RunRecord& run, int slots, int bands);

}  // namespace joulery
