// What the path of a cgroup says of who runs in it: container runtimes, kubelet, systemd and Slurm each name their cgroups in
// their own way, and nest. The innermost container, unit and step win; what an outer one alone says is kept (a container
// in a container of a pod is in that pod). Pure text: how names are written is a table in the .cpp file.
//
// Invariant: what is told stands in the path; what it does not say (the runtime of a plain id below a pod) stays empty.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "watch/workload.h"

namespace joulery {

// Container, runtime, pod, unit, job and step of a path such as "/system.slice/docker-<id>.scope"; the rest stays empty.
Workload workload_of_cgroup(std::string_view path);

// A line of /proc/PID/cgroup: "11:cpuset:/kubepods/…", "0::/system.slice/…" (v2).
struct CgroupLine {
  std::string_view controllers;  // "cpu,cpuacct", "name=systemd"; "" of v2
  std::string_view path;         // without the mark " (deleted)"
  bool has_controller(std::string_view name) const;
};

// All lines that are such; others are left out. The views are into `text`.
std::vector<CgroupLine> lines_of_proc_cgroup(std::string_view text);

// What all lines together say: each fact from the first hierarchy that knows it, those that account CPU time first. With v1
// only some of them may name the container or the job (Slurm's freezer).
Workload workload_of_proc_cgroup(std::string_view text);

}  // namespace joulery
