// A copy of the user's xplane.pb with joules beside each event, as statistics that XProf reads and shows.
//
// Each event that energy is known of gets energy_j (all that ran inside it), energy_self_j (itself alone) and
// energy_quality; an event of a device gets vdd_energy_j too: the statistic that XProf's op metrics sum up into their own
// energy column. A vdd_energy_j that the profiler wrote itself stays, and ours is left out.
#pragma once

#include "core/result.h"
#include "publish/profile/chrome_copy.h"
#include "publish/profile/energy_finder.h"
#include "watch/profile/trace_input.h"

namespace joulery {

// Goes over the input three times (names, sizes, bytes) and streams. Errors: those of the input; io where `put` fails.
Result<void> copy_xplane(TraceInput& input, const EnergyFinder& energy, const PutBytes& put);

}  // namespace joulery
