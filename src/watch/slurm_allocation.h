// What Slurm says in a process' environment of its job's share of this node: for nodes where Slurm makes no cgroups, or none that
// hold the job to what it was given.
//
// Invariant: what the variables do not say, or say in a form that is none of theirs, stays empty.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace joulery {

struct SlurmAllocation {
  std::string job;                       // SLURM_JOB_ID
  std::optional<int> cpus;               // of SLURM_JOB_CPUS_PER_NODE this node's, else SLURM_CPUS_ON_NODE
  std::optional<std::int64_t> memory;    // bytes: SLURM_MEM_PER_NODE, else SLURM_MEM_PER_CPU times the CPUs (both in MiB)
  std::vector<int> accelerators;         // numbers of whole GPUs: SLURM_JOB_GPUS, else SLURM_STEP_GPUS
  friend bool operator==(const SlurmAllocation&, const SlurmAllocation&) = default;
};

// From the text of /proc/PID/environ. Nothing where it names no job.
std::optional<SlurmAllocation> slurm_allocation(std::string_view environment);

// How many CPUs a list of the kernel names: "0-3,8,10-11" has 7. Nothing for a text that is no such list; "" has none.
std::optional<int> cpus_in_list(std::string_view list);

}  // namespace joulery
