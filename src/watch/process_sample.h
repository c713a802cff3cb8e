// CPU time of one process at one moment, as the scheduler counts it.
#pragma once

#include <cstdint>
#include <string>

#include "core/time.h"

namespace joulery {

// Identity of a process: a pid alone is reused, with its start it is not.
struct ProcessId {
  std::int32_t pid = 0;
  std::int64_t start_ticks = 0;  // field 22 of /proc/PID/stat, since boot
  friend auto operator<=>(const ProcessId&, const ProcessId&) = default;
};

struct ProcessSample {
  ProcessId id;
  std::int32_t parent = 0;
  std::string name;       // comm, brackets and spaces kept
  MonoTime time;
  Duration cpu;           // on-CPU time since the process began, all of its threads that lived
};

}  // namespace joulery
