#include "app/agent_notes.h"

#include <algorithm>

#include "sense/agent/agent_meters.h"

namespace joulery {

std::string read_by_agent(const std::vector<Device>& devices) {
  std::string names;
  for (const Device& device : devices)
    if (std::ranges::find(device.remarks, by_agent) != device.remarks.end())
      names += (names.empty() ? "" : ", ") + device.kind + " " + device.name;
  return names;
}

std::vector<std::string> agent_notes(const std::vector<Device>& devices) {
  const std::string names = read_by_agent(devices);
  return names.empty() ? std::vector<std::string>() : std::vector<std::string>{"by-agent: " + names};
}

}  // namespace joulery
