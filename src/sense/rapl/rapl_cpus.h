// Which CPU reaches which counter: the registers of RAPL belong to a package (or to each of its dies, or on AMD to each
// core), and any of its CPUs shows them.
#pragma once

#include <string>
#include <vector>

#include "sense/machine.h"

namespace joulery {

struct RaplCpu {
  int cpu = 0;
  std::string package;  // "package-0", or "package-0-die-1" where the package has several dies: as powercap names them
};

// One CPU for each package. `by_die`: Intel's counters are of a die, AMD's of the package whatever its dies.
std::vector<RaplCpu> one_cpu_per_package(const Machine& machine, bool by_die);

// One CPU for each core.
std::vector<RaplCpu> one_cpu_per_core(const Machine& machine);

}  // namespace joulery
