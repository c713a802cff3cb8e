// Board and accelerators of the machine, from what the kernel shows of its firmware (DMI) and its PCI devices.
#pragma once

#include "core/machine_kind.h"
#include "sense/machine.h"

namespace joulery {

// Never fails: what cannot be read stays "". Accelerators are PCI devices of class 0300, 0302 and 0380 (display) and 12xx
// (processing accelerators); a server's own VGA chip is among them, and the same on every machine of its kind.
MachineKind read_machine_kind(const Machine& machine);

}  // namespace joulery
