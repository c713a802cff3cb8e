// What an agent gives up once everything is open: rights it needs no more, and system calls that it will never make. A fault in
// what it serves to others then cannot become a fault of the machine.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"

namespace joulery {

// Keeps of the capabilities, where the process has them, those to read what programs say of themselves (CAP_SYS_PTRACE,
// CAP_DAC_READ_SEARCH) and to read the scheduler's account (CAP_BPF, CAP_PERFMON); gives up all others for good, forbids new
// rights by exec, and refuses (EPERM) what no part of the agent does: loading modules, mounting, tracing, changing the clock, users or
// namespaces, replacing the kernel. `runs_programs`: a meter starts a program of its own (AWS Neuron's monitor); else exec is
// refused too. Errors: permission, io. Says what was given up, for the log.
Result<std::string> confine(bool runs_programs);

}  // namespace joulery
