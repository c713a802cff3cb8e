// Whose a process is: the cgroup, container, pod, unit, job, user and tags that it belongs to.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace joulery {

// Empty texts: it belongs to none of that kind.
struct Workload {
  std::string cgroup;             // "/system.slice/docker-<id>.scope": path in the hierarchy that accounts CPU time
  std::string container;          // id of the innermost one, as the runtime says it (64 hex digits, or a name)
  std::string runtime;            // "docker", "containerd", "cri-o", "podman", "systemd-nspawn"
  std::string pod;                // uid with dashes
  std::string unit;               // "nginx.service", the innermost systemd unit
  std::string job, step;          // Slurm: "4711", "4711.0" ("4711.batch", "4711.extern")
  std::string user;               // its name, or the number where it has none
  std::map<std::string, std::string> tags;  // free: "team" -> "vision"
  friend auto operator<=>(const Workload&, const Workload&) = default;
};

// What a tag must not be called: it would pass for what is known of a consumer.
constexpr bool is_fact(std::string_view name) {
  constexpr std::string_view facts[] = {"process", "cgroup", "container", "pod",  "unit", "job",      "step",
                                        "user",    "pid",    "runtime",   "kind", "name", "component"};
  return std::ranges::find(facts, name) != std::end(facts);
}

}  // namespace joulery
