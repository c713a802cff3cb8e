#include "sense/rapl/powercap_zones.h"

#include <algorithm>
#include <string_view>

namespace joulery {
namespace {

constexpr std::string_view class_folder = "/sys/class/powercap";

struct ControlType {
  std::string_view name;
  bool mirror;
};
constexpr ControlType control_types[] = {{"intel-rapl", false}, {"intel-rapl-mmio", true}};

std::string_view parent_id(std::string_view id) { return id.substr(0, id.rfind(':')); }

int find(const std::vector<PowercapZone>& zones, std::string_view id) {
  const auto at = std::ranges::find(zones, id, &PowercapZone::id);
  return at == zones.end() ? -1 : static_cast<int>(at - zones.begin());
}

// Adds the zones in `folder` whose id is directly below `above` ("intel-rapl" or "intel-rapl:0"), each with what is nested
// in it. Ids grow by one part at each level, so symbolic links such as `device` and `subsystem` lead nowhere.
void add_zones(const Machine& machine, const std::string& folder, std::string_view above, int parent, bool mirror,
               std::vector<PowercapZone>& zones) {
  for (const std::string& id : machine.list(folder)) {
    if (parent_id(id) != above || id.size() == above.size() || find(zones, id) >= 0) continue;
    const std::string here = path_below(folder, id);
    zones.push_back({id, here, machine.read_or_empty(here + "/name"), parent, mirror});
    const int index = static_cast<int>(zones.size()) - 1;
    add_zones(machine, here, id, index, mirror, zones);                                       // nested
    if (folder == class_folder) add_zones(machine, folder, id, index, mirror, zones);         // flat
  }
}

}  // namespace

std::vector<PowercapZone> read_powercap_zones(const Machine& machine) {
  std::vector<PowercapZone> zones;
  for (const ControlType& type : control_types) {
    const std::string flat(class_folder);
    add_zones(machine, flat, type.name, -1, type.mirror, zones);
    add_zones(machine, flat + "/" + std::string(type.name), type.name, -1, type.mirror, zones);
  }
  return zones;
}

}  // namespace joulery
