// The RAPL zones of /sys/class/powercap, as the kernel nests them.
//
// A zone is known by its `name` ("package-0", "core", "dram", "psys") and by the zone that it is nested in. Its number is
// the order in which the kernel met it: intel-rapl:0 may be package-1. A tree may show a subzone twice, flat in the class
// folder and inside its parent's folder; it is the same zone.
#pragma once

#include <string>
#include <vector>

#include "sense/machine.h"

namespace joulery {

struct PowercapZone {
  std::string id;       // "intel-rapl:0:1"
  std::string folder;   // "/sys/class/powercap/intel-rapl:0:1"
  std::string name;     // "dram"; "" where it cannot be read
  int parent = -1;      // index of the zone that it is nested in
  bool mirror = false;  // reached through MMIO: a second view of a package that intel-rapl shows too
};

// Every zone once, parents before children. Zones of other control types (dtpm) are left out.
std::vector<PowercapZone> read_powercap_zones(const Machine& machine);

}  // namespace joulery
