// Who reserved how much of the machine, for the policy that has static energy carried by those it is kept ready for.
//
// What counts as a reservation, of what runs:
//  - a cgroup: its CPU quota (cpu.max; v1 cpu.cfs_quota_us), or its cpuset where that is narrower than the machine's, whichever is less;
//    its memory limit (memory.max; v1 memory.limit_in_bytes). memory.min and memory.low protect, they set nothing aside.
//  - a container of a pod: the CPU it requested, derived from the weight that the kubelet makes of it; its memory limit. The pod's
//    own where its containers say nothing. The kubelet's own cgroups around the pods bound, they reserve nothing.
//  - a Slurm job: its cgroup, its steps share it; where that sets no bound, what Slurm says in the environment of its processes. The
//    cgroup goes first: it holds, and who is billed could write another environment.
// A cgroup inside another one that reserved has its part of that: more cannot be given out below than there is above.
// A cpuset that two cgroups share counts for both. A cgroup without a process reserves nothing.
//
// Invariant: of everyone inside an allocation, its own part and the parts of those below sum to what it reserved, or less.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/time.h"
#include "watch/process_sample.h"
#include "watch/slurm_allocation.h"
#include "watch/workload.h"

namespace joulery {

struct Allocation {
  std::string name;               // path of the cgroup; "slurm job 4711" where only its environment says it
  Workload workload;              // user and tags as long as all that were seen in it have the same
  std::array<double, 2> share{};  // 0..1 of the machine: CPUs, memory; without what those inside it reserved
  std::vector<int> accelerators;  // numbers of GPUs that are its own
  bool derived = false;           // the share of CPUs follows from a weight
};

class Reservations {
 public:
  enum Resource : std::size_t { cpu, memory };
  // What a process may use of: positions in all().
  struct Place {
    std::array<std::optional<std::size_t>, 2> of;  // by Resource
    std::optional<std::size_t> accelerators;
  };

  // `root` holds proc/ and sys/, "" for this machine; `cpus`: what it has.
  Reservations(std::string root, int cpus);

  // Looks through the cgroups again where the last look is ten seconds old.
  void look(MonoTime now);
  // Positions are valid until the next look().
  Place place_of(ProcessId id, const Workload& workload, bool ended);
  const std::vector<Allocation>& all() const { return all_; }

 private:
  // A cgroup that reserved something, in CPUs and bytes.
  struct Unit {
    std::array<std::optional<double>, 2> amount;
    bool derived = false, pod = false;  // pod: where its containers say what they have, it has nothing besides
  };
  struct Known {  // a process
    std::int64_t start_ticks = 0;
    std::string cgroup;                        // as its workload says: it is looked at again where that changes
    std::map<std::string, std::string> paths;  // by controller
    std::optional<SlurmAllocation> slurm;
  };
  struct Folder;

  bool walk(const Folder& folder);
  void read_cpu(const Folder& folder, Unit& unit) const;
  void read_memory(const Folder& folder, Unit& unit) const;
  void give_out();
  std::map<std::string, double> own_parts(Resource resource) const;
  std::optional<std::size_t> nearest(const std::string& path, Resource resource) const;
  const Known& known_of(ProcessId id, const Workload& workload, bool ended);
  std::size_t allocation_named(const std::string& name, const Workload& workload, const std::string& cgroup);
  Place find_place(ProcessId id, const Workload& workload, bool ended);
  std::size_t slurm_job(const SlurmAllocation& slurm, const Place& place, const Workload& workload);
  void note(std::size_t allocation, const Workload& workload);

  std::string root_;
  std::array<double, 2> machine_{};  // CPUs, bytes
  std::optional<MonoTime> looked_;
  std::map<std::string, Unit> units_;
  std::vector<Allocation> all_;
  std::map<std::string, std::size_t> at_;               // by Allocation::name
  std::map<std::string, std::pair<bool, Workload>> seen_;  // by name: user and tags of those seen in it; false: nobody yet
  std::map<std::int32_t, Known> processes_;
};

}  // namespace joulery
