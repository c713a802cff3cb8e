// Who used the CPUs of the whole machine, process by process, since the account was last read: the kernel's own accounting.
//
// Two ways to it, each an implementation of its own: an eBPF program on the scheduler's switches, which misses nobody, and
// a look through /proc, which misses who comes and goes between two looks. method() says which; a recording keeps it.
//
// Invariant: over any sequence of calls the CPU time of a process adds up to what it used, each nanosecond once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/time.h"
#include "watch/process_sample.h"

namespace joulery {

// What one process used since the last look, in one cgroup. One that used nothing is told only when it has ended; one that moved
// has a row for each.
struct CpuUse {
  ProcessId id;
  std::int32_t parent = 0;
  std::uint32_t user = 0;         // real uid
  std::string name;               // comm, brackets and spaces kept
  std::uint64_t cgroup = 0;       // inode of its cgroup's folder in the hierarchy that accounts CPU time; 0: not known
  Duration cpu;                   // >= 0, all of its threads, the ended ones too
  bool ended = false;
};

struct CgroupName {
  std::uint64_t id = 0;           // as CpuUse::cgroup
  std::string path;
};

struct CpuUses {
  Interval when;                  // from the last look to this one
  std::vector<CpuUse> processes;
  std::vector<CgroupName> cgroups;  // made since the last look, as far as is known: one may be gone before anybody looks for its folder
  Duration unattributed;          // CPU time that is known to have been used, by whom is not
  std::int64_t vanished = 0;      // processes that were gone when they were looked at
};

class CpuAccount {
 public:
  virtual ~CpuAccount() = default;
  virtual std::string_view method() const = 0;   // "ebpf", "proc"
  virtual Result<CpuUses> read() = 0;            // since the last call; the first call tells since open
};

}  // namespace joulery
