// AMD GPUs through libamd_smi, loaded at run time. See amd_cards.h for what is made of them.
#pragma once

#include "sense/meter.h"

namespace joulery {

// Looks for the library only where the PCI bus shows an AMD GPU.
Discovery probe_amdsmi(const Machine& machine);

// True where libamd_smi can be loaded and shows a GPU: then the older library has nothing to add.
bool amdsmi_serves();

}  // namespace joulery
