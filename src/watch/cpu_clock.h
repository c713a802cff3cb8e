// The CPU time of a whole process, read from its own clock: nanoseconds, with the threads that have exited, and
// also of a zombie that nobody has waited for. /proc/PID/schedstat says as much of the first thread alone.
#pragma once

#include <sys/types.h>

#include <ctime>
#include <optional>

#include "core/quantity.h"

namespace joulery {

// Nothing where no process of this id exists any more.
inline std::optional<Duration> process_cpu_time(pid_t pid) {
  clockid_t clock{};
  timespec used{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0) return std::nullopt;
  return nanoseconds(static_cast<std::int64_t>(used.tv_sec) * 1'000'000'000 + used.tv_nsec);
}

}  // namespace joulery
