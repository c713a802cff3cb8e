#include "sense/meters.h"

#include <iterator>
#include <utility>

#include "sense/amd/amdsmi.h"
#include "sense/amd/rocm_smi.h"
#include "sense/aws/neuron.h"
#include "sense/google/tpu.h"
#include "sense/habana/hlml.h"
#include "sense/host/cpu.h"
#include "sense/hwmon/hwmon.h"
#include "sense/hwmon/jetson_iio.h"
#include "sense/intel/level_zero.h"
#include "sense/nvidia/nvml.h"
#include "sense/rapl/msr.h"
#include "sense/rapl/perf.h"
#include "sense/rapl/powercap.h"
#include "sense/second_ways.h"

namespace joulery {
namespace {

// A kind that finds all by itself.
template <Discovery (*probe)(const Machine&)>
Discovery local(const Machine& machine, const Settings&) {
  return probe(machine);
}

constexpr MeterKind kinds[] = {
    {"rapl.powercap", local<probe_powercap>},
    {"rapl.perf", local<probe_perf>},
    {"rapl.msr", local<probe_msr>},
    {"amdsmi", local<probe_amdsmi>},
    {"rocm_smi", local<probe_rocm_smi>},
    {"level_zero", local<probe_level_zero>},
    {"hlml", local<probe_hlml>},
    {"neuron", probe_neuron},
    {"tpu", probe_tpu},
    {"hwmon", local<probe_hwmon>},
    {"jetson.iio", local<probe_jetson_iio>},
    {"nvml", local<probe_nvml>},
    {"cpu", local<probe_cpu>},
    {"memory", local<probe_memory>},
};

template <class T>
void append(std::vector<T>& to, std::vector<T>& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

std::span<const MeterKind> meter_kinds() { return kinds; }

Discovery discover(const Machine& machine, const Settings& settings) {
  Discovery all;
  SecondWays second_ways;
  for (const MeterKind& kind : kinds) {
    Discovery found = kind.probe(machine, settings);
    second_ways.take(found);
    append(all.devices, found.devices);
    append(all.findings, found.findings);
  }
  second_ways.settle(all);
  return all;
}

}  // namespace joulery
