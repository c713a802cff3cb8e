// Why a sensor cannot be read, and what mends it: one table, so that the doctor, the report and the documentation say the
// same. A remedy holds one alternative a line, each a command that can be pasted, with a remark after " # ".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sense/meter.h"
#include "sense/surroundings.h"

namespace joulery {

enum class Obstacle : std::uint8_t {
  powercap_root_only,
  powercap_hidden_in_container,
  powercap_driver_missing,
  no_rapl_in_vm,
  powercap_unreadable,
  powercap_mirror,
  powercap_same_name,
  powercap_one_core,
  powercap_dram_unit,
  no_dram_domain,
  perf_paranoid,
  perf_seccomp,
  perf_no_pmu,
  perf_needs_this_machine,
  perf_stands_still,
  perf_unsupported,
  hwmon_none,
  hwmon_no_power,
  hwmon_unreadable,
  hwmon_disabled,
  nvml_no_gpu,
  nvml_no_library,
  nvml_no_driver,
  nvml_version_mismatch,
  nvml_no_permission,
  nvml_blocked,
  nvml_failed,
  nvml_no_energy,
  proc_unreadable,
};

struct Advice {
  std::string_view reason, remedy;
};
Advice advice(Obstacle obstacle);

// The findings of a probe, each in one line. A kind of meter with obstacles of its own keeps its Advice beside its probe.
Finding readable_finding(std::string_view kind, std::string device);
// Found, but something is in the way; `detail` is added to the reason: "(energy_uj: Input/output error)".
Finding blocked_finding(std::string_view kind, std::string device, const Advice& why, std::string_view detail = {});
Finding blocked_finding(std::string_view kind, std::string device, Obstacle obstacle, std::string_view detail = {});
// Not there.
Finding absent_finding(std::string_view kind, std::string device, const Advice& why, std::string_view detail = {});
Finding absent_finding(std::string_view kind, std::string device, Obstacle obstacle, std::string_view detail = {});

}  // namespace joulery
