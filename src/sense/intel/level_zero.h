// Intel GPUs through Level Zero's Sysman, loaded at run time: energy of the card and of its tiles, how busy its engines
// are, and its memory. Each GPU is a device of its own.
//
// A card's own domain is node/gpu/intel-N; its package and its tiles lie below it, so that they overlap it where it is
// told, and add up where it is not. The kernel's hwmon chip of the card (i915, xe) is the same component: either way
// serves, and no joule counts twice.
#pragma once

#include "sense/meter.h"

namespace joulery {

// Looks for the library only where the PCI bus shows an Intel GPU.
Discovery probe_level_zero(const Machine& machine);

}  // namespace joulery
