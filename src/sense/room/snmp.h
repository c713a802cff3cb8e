// Power distribution units and other devices that tell power or energy by SNMP: kind "snmp", for each [meters.NAME] of it.
#pragma once

#include "config/settings.h"
#include "sense/meter.h"

namespace joulery {

// Sections with kind = "snmp": host, and model with outlet or inlet, or oid with unit and scale. An outlet or an object of the
// user's choice measures "wall" where the section does not say; a whole unit or an inlet, which may feed many machines, is
// shown apart as room/NAME.
Discovery probe_snmp(const Machine& machine, const Settings& settings);

}  // namespace joulery
