// RAPL straight from the processor's registers, through /dev/cpu/N/msr: for kernels that offer neither powercap nor perf
// for this processor, and the only way to AMD's counters of each core on older kernels.
//
// A register counts in 32 bits and wraps; what a count is worth is the table's business (rapl_units.h), which knows where
// the processor says otherwise than it counts. Packages and cores are two devices: cores overlap their package, and where
// an earlier kind has the packages already, the cores alone are read.
#pragma once

#include "sense/meter.h"

namespace joulery {

Discovery probe_msr(const Machine& machine);

}  // namespace joulery
