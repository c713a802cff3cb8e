#include "sense/meters.h"

#include <iterator>
#include <utility>

#include "sense/cpu.h"
#include "sense/hwmon.h"
#include "sense/nvml.h"
#include "sense/perf.h"
#include "sense/powercap.h"

namespace joulery {
namespace {

constexpr MeterKind kinds[] = {
    {"rapl.powercap", probe_powercap},
    {"rapl.perf", probe_perf},
    {"hwmon", probe_hwmon},
    {"nvml", probe_nvml},
    {"cpu", probe_cpu},
    {"memory", probe_memory},
};

template <class T>
void append(std::vector<T>& to, std::vector<T>& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

std::span<const MeterKind> meter_kinds() { return kinds; }

Discovery discover(const Machine& machine) {
  Discovery all;
  for (const MeterKind& kind : kinds) {
    Discovery found = kind.probe(machine);
    append(all.devices, found.devices);
    append(all.findings, found.findings);
  }
  return all;
}

}  // namespace joulery
