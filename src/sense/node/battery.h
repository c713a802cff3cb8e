// A laptop's battery: while it is being discharged it feeds the whole machine, and what it gives is the whole node's power.
// On mains it says nothing of the node: charging is a load of its own, and a full battery shows 0 W.
#pragma once

#include "sense/meter.h"

namespace joulery {

// Kind "battery", from /sys/class/power_supply. Batteries of mice and keyboards (scope Device) are left out.
Discovery probe_battery(const Machine& machine);

}  // namespace joulery
