// CPU time that all processes of the machine together have used, the ended ones too: what those that were never seen alive took
// is the difference to what was seen.
#pragma once

#include <optional>
#include <string>

#include "core/quantity.h"

namespace joulery {

struct BusyTime {
  Duration used;
  Duration slack;  // it may be this much too high: its grain
};

// From the root of the v1 hierarchy cpuacct, exact to the nanosecond, where `cpuacct_folder` ("" for none) has it; else from the
// ticks of /proc/stat: user, nice and system, of all CPUs. `root` as elsewhere. Nothing where neither can be read.
std::optional<BusyTime> machine_busy_time(const std::string& root, const std::string& cpuacct_folder);

}  // namespace joulery
