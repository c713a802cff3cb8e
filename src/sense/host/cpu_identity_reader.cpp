#include "sense/host/cpu_identity_reader.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "sense/host/proc_files.h"
#include "sense/parse_number.h"
#include "sense/surroundings.h"

namespace joulery {
namespace {

constexpr double bytes_per_gib = 1024.0 * 1024.0 * 1024.0;

struct Topology {
  int sockets = 0, cores = 0, threads = 0;
};

// From sysfs, for processors whose /proc/cpuinfo does not tell (ARM).
Topology read_topology(const Machine& machine) {
  std::set<std::int64_t> sockets;
  std::set<std::pair<std::int64_t, std::int64_t>> cores;
  Topology topology;
  const std::string cpus = "/sys/devices/system/cpu";
  for (const std::string& name : machine.list(cpus)) {
    if (!name.starts_with("cpu") || !parse_whole<int>(name.substr(3))) continue;
    const std::string described = path_below(path_below(cpus, name), "topology");
    const auto socket = machine.read_integer(path_below(described, "physical_package_id"));
    const auto core = machine.read_integer(path_below(described, "core_id"));
    if (!socket || !core) continue;
    ++topology.threads;
    sockets.insert(*socket);
    cores.emplace(*socket, *core);
  }
  topology.sockets = static_cast<int>(sockets.size());
  topology.cores = static_cast<int>(cores.size());
  return topology;
}

// How a version of control groups says its limit, and where.
struct GroupVersion {
  std::string_view folder, file;
};
constexpr GroupVersion version_2[] = {{"/sys/fs/cgroup", "memory.max"}, {"/sys/fs/cgroup/unified", "memory.max"}};
constexpr GroupVersion version_1[] = {{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"}};

// Of a limit of `group` and all groups above it, the smallest; "max" is none.
void take_limits(const Machine& machine, const GroupVersion& version, std::string_view group, std::optional<std::int64_t>& least) {
  while (true) {
    const std::string file = std::string(version.folder) + std::string(group) + "/" + std::string(version.file);
    if (const auto limit = machine.read_integer(file); limit && *limit > 0) least = std::min(least.value_or(*limit), *limit);
    if (group.empty()) return;
    group = group.substr(0, group.rfind('/'));
  }
}

// "/a/b" of the line "0::/a/b" (version 2) or "4:memory:/a/b" (version 1); "" for the root group and where there is none.
std::string_view group_in(std::string_view groups, bool of_version_2) {
  while (!groups.empty()) {
    std::string_view line = next_line(groups);
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string_view group = trim_end(line.substr(second + 1));
    if (!group.starts_with('/') || group == "/" || group.find("/..") != std::string_view::npos) continue;
    if (of_version_2 ? controllers.empty() : controllers == "memory") return group;
  }
  return {};
}

std::optional<double> memory_limit_gb(const Machine& machine, double memory_gb) {
  const std::string groups = machine.read_or_empty("/proc/self/cgroup");
  std::optional<std::int64_t> least;
  for (const GroupVersion& version : version_2) take_limits(machine, version, group_in(groups, true), least);
  for (const GroupVersion& version : version_1) take_limits(machine, version, group_in(groups, false), least);
  if (!least) return std::nullopt;
  const double limit_gb = static_cast<double>(*least) / bytes_per_gib;
  if (memory_gb > 0 && limit_gb >= memory_gb) return std::nullopt;
  return limit_gb;
}

}  // namespace

CpuIdentity read_cpu_identity(const Machine& machine) {
  CpuInfo info = parse_cpuinfo(machine.read_or_empty("/proc/cpuinfo"));
  CpuIdentity identity;
  identity.model_name = std::move(info.model_name);
  identity.vendor = std::move(info.vendor);
  identity.family = info.family;
  identity.model = info.model;
  identity.stepping = info.stepping;
  identity.sockets = info.sockets;
  identity.cores = info.cores;
  identity.threads = info.threads;
  if (identity.sockets == 0 || identity.cores == 0) {
    const Topology topology = read_topology(machine);
    identity.sockets = topology.sockets;
    identity.cores = topology.cores;
    if (identity.threads == 0) identity.threads = topology.threads;
  }
  if (const auto memory = parse_meminfo(machine.read_or_empty("/proc/meminfo")))
    identity.memory_gb = static_cast<double>(memory->total) / bytes_per_gib;
  identity.memory_limit_gb = memory_limit_gb(machine, identity.memory_gb);
  Surroundings around = read_surroundings(machine);
  identity.virtual_machine = around.virtual_machine;
  identity.hypervisor = std::move(around.hypervisor);
  return identity;
}

}  // namespace joulery
