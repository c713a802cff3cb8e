// Which hierarchy of cgroups accounts CPU time, and where it is mounted. On a machine with v2 alone it is that one; with v1, or
// both (hybrid), it is the v1 hierarchy that has the controller cpuacct, else cpu.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace joulery {

enum class CpuController : std::uint8_t { unified, cpuacct, cpu };  // unified: cgroup v2

struct CgroupMount {
  CpuController controller = CpuController::unified;
  std::string folder;    // "/sys/fs/cgroup/cpu,cpuacct", without the root folder of a recorded tree
  std::string root;      // the cgroup that is mounted there: "/", or where a container sees only its own
  std::string controllers;  // "cpu,cpuacct" of v1, as in /proc/PID/cgroup; "" of v2
};

// From the text of /proc/self/mountinfo; nothing where no such hierarchy is mounted.
std::optional<CgroupMount> find_cpu_hierarchy(std::string_view mountinfo);
// The hierarchy that has `controller` ("cpu", "cpuset", "memory"): a v1 one where it is there, else v2.
std::optional<CgroupMount> find_hierarchy(std::string_view mountinfo, std::string_view controller);

}  // namespace joulery
