// What must be said where an agent read meters for this program.
#pragma once

#include <string>
#include <vector>

#include "sense/meter.h"

namespace joulery {

// "rapl.powercap powercap, nvml GPU-...": the devices that an agent reads; "" where it reads none.
std::string read_by_agent(const std::vector<Device>& devices);

// The flag "by-agent: rapl.powercap powercap, ..."; none where no device was read by an agent.
std::vector<std::string> agent_notes(const std::vector<Device>& devices);

}  // namespace joulery
