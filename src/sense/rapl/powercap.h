// RAPL through /sys/class/powercap: the energy counters of CPU packages, their cores and memory, and the platform.
//
// All zones are one device, so that a round is one coherent snapshot of every socket. What counts where:
// package-N is node/cpu/package-N, its core and uncore lie below it, its DRAM is beside it as node/dram/package-N
// (RAPL packages do not contain their memory), psys is node/platform and overlaps everything.
#pragma once

#include "sense/meter.h"

namespace joulery {

// Zones that exist but cannot be read (only one of two sockets, say) are channels whose readings are missing, so that a
// total knows what it lacks; where no zone can be read there is no device. Absent DRAM has a finding of its own.
Discovery probe_powercap(const Machine& machine);

}  // namespace joulery
