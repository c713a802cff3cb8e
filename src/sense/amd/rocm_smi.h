// AMD GPUs through librocm_smi64, the library before libamd_smi, where that one is absent.
#pragma once

#include "sense/meter.h"

namespace joulery {

// Looks for the library only where the PCI bus shows an AMD GPU.
Discovery probe_rocm_smi(const Machine& machine);

}  // namespace joulery
