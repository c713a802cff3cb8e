// Reads which processor and how much memory a machine has, whether it is virtual, and what share of its memory this
// process may use.
#pragma once

#include "core/cpu_identity.h"
#include "sense/machine.h"

namespace joulery {

// What cannot be read stays 0 or "". The memory limit is the smallest one of this process's control group and those above
// it (version 2 `memory.max`, version 1 `memory.limit_in_bytes`), where it is less than the machine's memory.
CpuIdentity read_cpu_identity(const Machine& machine);

}  // namespace joulery
