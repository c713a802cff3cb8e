// Power as a management controller tells it over the network: kind "ipmi-lan", for each [meters.NAME] of that kind.
#pragma once

#include "config/settings.h"
#include "sense/meter.h"

namespace joulery {

// A controller that is known by name but cannot be read now is a finding; one that answers is a device.
Discovery probe_ipmi_lan(const Machine& machine, const Settings& settings);

}  // namespace joulery
