// Who used the CPUs, by an eBPF program on the scheduler's switches (bpf/oncpu.bpf.c): exact, and nobody is missed, however
// short-lived. Needs Linux 5.11 with BTF, libbpf 1.0 and the rights to load it (CAP_BPF and CAP_PERFMON, or root).
//
// A process that ran in several cgroups since the last look has a row for each. What the kernel does in interrupts is billed to
// whom they interrupt. One that has ended may be told once more, at the next look, with what its last moments took.
//
// Invariant: from open on, the time of all processes and the unattributed time is at most CPUs x wall time. Of a single look
// that holds but for the microseconds in which it looks from CPU to CPU.
#pragma once

#include <cstdint>
#include <memory>

#include "core/result.h"
#include "watch/cgroup_mounts.h"
#include "watch/cpu_account.h"

namespace joulery {

// Which hierarchy tells the cgroups, and for how many processes (times the cgroups that they are in) there is room in the
// kernel, 150 bytes each; the time of those beyond is unattributed.
struct BpfAccountOptions {
  CpuController controller = CpuController::unified;
  std::uint32_t rows = 65'536;
};

// Errors, each with a remedy: unsupported (built without the program; no libbpf; a kernel without BTF or too old; a pid
// namespace of our own, whose pids are not those of the kernel), permission.
Result<std::unique_ptr<CpuAccount>> open_bpf_account(const BpfAccountOptions& options);

}  // namespace joulery
