// What a report must say where an agent read meters for it.
#pragma once

#include <string>
#include <vector>

#include "sense/meter.h"

namespace joulery {

// The flag "by-agent: rapl.powercap powercap, ..."; none where no device was read by an agent.
std::vector<std::string> agent_notes(const std::vector<Device>& devices);

}  // namespace joulery
