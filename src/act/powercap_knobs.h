// The power limits of RAPL, in /sys/class/powercap: each zone has constraints ("long_term", "short_term", "peak_power"), each with
// its limit and the time over which the mean is limited.
//
// A zone's switch (`enabled`) belongs to its long-term limit: where it is off, a limit is a number without effect, so setting
// the limit turns it on and undoing it turns it off again.
#pragma once

#include "act/knob_file.h"
#include "act/power_knob.h"
#include "sense/machine.h"

namespace joulery {

// Adds each constraint of each zone that has a limit. A zone that MMIO shows a second time has limits of its own, of which the
// smaller one acts: they are named "mmio.long_term".
void add_powercap_knobs(const Machine& machine, KnobFile::Access access, PowerKnobs& knobs);

}  // namespace joulery
