// Paths of cgroups, what Slurm says in an environment, lists of CPUs, and lines of /proc/PID/cgroup and /proc/self/mountinfo: whoever makes a cgroup chooses its name.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "watch/cgroup_mounts.h"
#include "watch/cgroup_path.h"
#include "watch/proc_folder.h"
#include "watch/slurm_allocation.h"
#include "watch/workloads.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace joulery;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const Workload& found : {workload_of_cgroup(text), workload_of_proc_cgroup(text)}) {
    // What is told stands in the text; a step belongs to a job, a runtime to a container.
    if (text.find(found.unit) == std::string_view::npos || text.find(found.job) == std::string_view::npos) std::abort();
    if (!found.step.empty() && !found.step.starts_with(found.job + ".")) std::abort();
    if (!found.runtime.empty() && found.container.empty()) std::abort();
    if (!found.pod.empty() && found.pod.size() != 36 && found.pod.size() != 32) std::abort();
  }
  for (const CgroupLine& line : lines_of_proc_cgroup(text))
    if (!line.path.starts_with('/')) std::abort();
  find_cpu_hierarchy(text);
  find_hierarchy(text, "memory");
  if (const auto slurm = slurm_allocation(text); slurm && (slurm->cpus.value_or(1) <= 0 || slurm->memory.value_or(1) <= 0)) std::abort();
  if (const auto cpus = cpus_in_list(text); cpus && *cpus < 0) std::abort();
  user_of_status(text);
  for (const auto& [name, value] : tags_of_text(text))
    if (name.empty()) std::abort();
  return 0;
}
