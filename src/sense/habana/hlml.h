// Habana Gaudi through libhlml, loaded at run time: energy counter and power, utilisation, memory. The library mirrors
// NVIDIA's: millijoules since the driver was loaded, milliwatts, per cent of the last second. Each card is a device of
// its own, node/gpu/gaudi-N.
#pragma once

#include "sense/meter.h"

namespace joulery {

// Looks for the library only where the PCI bus shows a Gaudi.
Discovery probe_hlml(const Machine& machine);

}  // namespace joulery
