// Power as this machine's own management controller (BMC) tells it, through the kernel's IPMI device: kind "ipmi".
#pragma once

#include "sense/meter.h"

namespace joulery {

Discovery probe_ipmi(const Machine& machine);

}  // namespace joulery
