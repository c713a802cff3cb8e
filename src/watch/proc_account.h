// Who used the CPUs, by a look at every process in /proc: where eBPF is not allowed. The CPU time is the kernel's own, to the
// nanosecond (watch/cpu_clock.h), with threads that have ended and processes that nobody has waited for; kernel threads too.
//
// What it cannot know is who it was: a process that comes and goes between two looks, and what one used between the last look
// at it and its end. That is in `unattributed`, the difference to what the whole machine used (watch/machine_busy.h). A process
// that runs at the look is known up to the last tick of the scheduler; the rest is told at the next look.
//
// Cheap where little happens: a process that has not run costs one system call; new ones are found by the number of the
// last one that was made, and all are listed only now and then.
#pragma once

#include <memory>
#include <string>

#include "core/result.h"
#include "watch/cpu_account.h"

namespace joulery {

// `root` holds proc/ (and sys/, for the cgroups): "" for this machine. In a recorded tree the CPU time is what stat and schedstat
// of its processes say, and each look lists all.
// Errors: io, where there is no proc/ in it.
Result<std::unique_ptr<CpuAccount>> open_proc_account(std::string root = {});

}  // namespace joulery
