// The meters that an agent on this node reads already and gives to others, over a UNIX socket: what this process may not read
// itself is measured all the same, without any right of its own.
//
// Each comes under its own kind and name, with the remark that the agent read it. What this process reads itself is not taken
// a second time. An agent that goes away costs the readings meanwhile; it is looked for about once a second.
#pragma once

#include <string>
#include <string_view>

#include "config/settings.h"
#include "sense/agent/meter_messages.h"
#include "sense/meter.h"

namespace joulery {

inline constexpr std::string_view agent_kind = "agent";
inline constexpr std::string_view by_agent = "read by the agent";  // the remark of each

Discovery probe_agent(const Machine& machine, const Settings& settings);

// The device at place `index` of the agent's list, as it described it.
Device agent_device(const std::string& socket, std::size_t index, SharedDevice device);

// What could not be read here and is given by `given` is no longer told as blocked.
void supersede(std::vector<Finding>& findings, const Discovery& given);

}  // namespace joulery
