#include "watch/reservations.h"

#include <dirent.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <utility>

#include "watch/cgroup_mounts.h"
#include "watch/cgroup_path.h"
#include "watch/proc_stat.h"

namespace joulery {
namespace {

constexpr Duration between_looks = milliseconds(10'000);
constexpr double unlimited = 0x1p62;  // v1 writes "no limit" as a number of bytes, rounded to pages
constexpr std::array<const char*, 3> controllers = {"cpu", "cpuset", "memory"};

std::string first_line(const std::string& path) {
  std::string text = read_small_file(path).value_or("");
  return text.substr(0, text.find('\n'));
}

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failed == std::errc{} && end == text.data() + text.size() && value >= 0 ? std::optional(value) : std::nullopt;
}

// In CPUs. v2: "max 100000" or "200000 100000"; v1: -1 is none.
std::optional<double> quota(const std::string& folder, bool v1) {
  std::string text = first_line(folder + (v1 ? "/cpu.cfs_quota_us" : "/cpu.max"));
  if (v1) text += " " + first_line(folder + "/cpu.cfs_period_us");
  const std::size_t blank = text.find(' ');
  if (blank == std::string::npos) return std::nullopt;
  const auto of = number(std::string_view(text).substr(0, blank)), period = number(std::string_view(text).substr(blank + 1));
  return of && period && *period > 0 ? std::optional(*of / *period) : std::nullopt;
}

// In CPUs, what a container requested. The kubelet makes shares of it, 1024 a CPU and 2 at least; with v2 it makes a weight of these,
// 1 + (shares - 2) * 9999 / 262142 cut to a whole number, so that the request is known to 0.026 CPUs.
// Kubernetes: MilliCPUToShares, CpuSharesToCpuWeight in pkg/kubelet/cm.
std::optional<double> request(const std::string& folder, bool v1) {
  auto shares = number(first_line(folder + (v1 ? "/cpu.shares" : "/cpu.weight")));
  if (shares && !v1) shares = (*shares - 1) * 262'142 / 9'999 + 2;
  return shares && *shares > 2 ? std::optional(*shares / 1024) : std::nullopt;
}

std::optional<double> memory_limit(const std::string& folder, bool v1) {
  const auto bytes = number(first_line(folder + (v1 ? "/memory.limit_in_bytes" : "/memory.max")));  // "max" is none
  return bytes && *bytes < unlimited ? bytes : std::nullopt;
}

double machine_memory(const std::string& root) {
  constexpr std::string_view key = "MemTotal:";
  const std::string text = read_small_file(root + "/proc/meminfo").value_or("");
  const std::size_t at = text.find(key);
  if (at == std::string::npos) return 0;
  const std::size_t digits = text.find_first_not_of(' ', at + key.size());
  double kibibytes = 0;
  if (digits != std::string::npos) std::from_chars(text.data() + digits, text.data() + text.size(), kibibytes);
  return kibibytes * 1024;
}

void take_less(std::optional<double>& amount, std::optional<double> other) {
  if (other && (!amount || *other < *amount)) amount = other;
}

// The next folder outwards of "/a/b": "/a", then "/", then "".
std::string outwards(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (path.size() <= 1 || slash == std::string::npos) return {};
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

struct Reservations::Folder {
  std::string disk, path;
  bool v1 = false;
  std::vector<std::string_view> controllers;
  Workload above;                // of the folder around it
  std::string container_of_pod;  // in which the pod itself is: a whole node may be a container
  std::string cpuset_above;

  bool has(std::string_view controller) const { return std::ranges::find(controllers, controller) != controllers.end(); }
};

Reservations::Reservations(std::string root, int cpus) : root_(std::move(root)) {
  machine_[cpu] = std::max(1, cpus);
  machine_[memory] = machine_memory(root_);
}

void Reservations::read_cpu(const Folder& folder, Unit& unit) const {
  if (folder.has("cpu")) take_less(unit.amount[cpu], quota(folder.disk, folder.v1));
  if (!folder.has("cpuset")) return;
  const std::string own = first_line(folder.disk + "/cpuset.cpus");
  if (own.empty() || own == folder.cpuset_above) return;
  const std::string effective = first_line(folder.disk + (folder.v1 ? "/cpuset.effective_cpus" : "/cpuset.cpus.effective"));
  const auto count = cpus_in_list(effective.empty() ? own : effective);
  if (count && *count > 0 && *count < machine_[cpu]) take_less(unit.amount[cpu], *count);
}

void Reservations::read_memory(const Folder& folder, Unit& unit) const {
  if (folder.has("memory") && machine_[memory] > 0) take_less(unit.amount[memory], memory_limit(folder.disk, folder.v1));
}

// True where a process is in it, or below it.
bool Reservations::walk(const Folder& folder) {
  const Workload here = workload_of_cgroup(folder.path);
  const bool kubelet = folder.path.contains("kubepods"), new_pod = here.pod != folder.above.pod;
  const std::string container_of_pod = new_pod ? folder.above.container : folder.container_of_pod;
  const bool own_container = !here.pod.empty() && here.container != container_of_pod && folder.above.container == container_of_pod;
  bool populated = !first_line(folder.disk + "/cgroup.procs").empty();
  Folder below{"", "", folder.v1, folder.controllers, here, container_of_pod, first_line(folder.disk + "/cpuset.cpus")};
  if (const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(folder.disk.c_str()), closedir); open)
    while (const dirent* entry = readdir(open.get())) {
      const std::string name = entry->d_name;
      if (entry->d_type != DT_DIR || name == "." || name == "..") continue;
      below.disk = folder.disk + "/" + name;
      below.path = (folder.path == "/" ? "" : folder.path) + "/" + name;
      populated = walk(below) || populated;
    }
  if (!populated || (kubelet && !new_pod && !own_container) || (!here.job.empty() && here.job == folder.above.job)) return populated;
  Unit& unit = units_[folder.path];
  unit.pod = kubelet && new_pod && !own_container;
  unit.derived = kubelet;
  if (kubelet && folder.has("cpu"))
    unit.amount[cpu] = request(folder.disk, folder.v1);
  else if (!kubelet)
    read_cpu(folder, unit);
  read_memory(folder, unit);
  return populated;
}

std::optional<std::size_t> Reservations::nearest(const std::string& path, Resource resource) const {
  for (std::string at = path; !at.empty(); at = outwards(at))
    if (const auto found = units_.find(at); found != units_.end() && found->second.amount[resource]) {
      const auto allocation = at_.find(at);
      return allocation == at_.end() ? std::nullopt : std::optional(allocation->second);
    }
  return std::nullopt;
}

// By path, in CPUs or bytes: what each reserved, cut to what those around it have, without what is given to those inside.
std::map<std::string, double> Reservations::own_parts(Resource resource) const {
  std::map<std::string, double> own, given;
  const auto around = [&](const std::string& path) {
    std::string at = outwards(path);
    while (!at.empty() && !own.contains(at)) at = outwards(at);
    return at;
  };
  for (const auto& [path, unit] : units_) {  // those around come first
    if (!unit.amount[resource]) continue;
    own[path] = std::min(*unit.amount[resource], machine_[resource]);
    const std::string above = around(path);
    if (above.empty()) continue;
    own[path] = std::min(own[path], own[above]);
    given[above] += own[path];
  }
  for (auto& [path, part] : own) {
    const auto inside = given.find(path);
    if (inside == given.end() || inside->second <= 0) continue;
    const double cut = std::min(1.0, part / inside->second);
    double sum = 0;
    for (auto at = own.upper_bound(path); at != own.end() && at->first.starts_with(path); ++at)
      if (around(at->first) == path) sum += at->second *= cut;
    part = units_.at(path).pod ? 0 : std::max(0.0, part - sum);
  }
  return own;
}

// Made where there is none yet.
std::size_t Reservations::allocation_named(const std::string& name, const Workload& workload, const std::string& cgroup) {
  const auto [at, is_new] = at_.try_emplace(name, all_.size());
  if (!is_new) return at->second;
  Allocation& made = all_.emplace_back();
  made.name = name;
  made.workload = workload;
  made.workload.cgroup = cgroup;
  if (const auto seen = seen_.find(name); seen != seen_.end())
    made.workload.user = seen->second.second.user, made.workload.tags = seen->second.second.tags;
  return at->second;
}

void Reservations::give_out() {
  all_.clear();
  at_.clear();
  for (const Resource resource : {cpu, memory})
    for (const auto& [path, part] : own_parts(resource)) {
      Allocation& allocation = all_[allocation_named(path, workload_of_cgroup(path), path)];
      allocation.derived = units_.at(path).derived;
      allocation.share[resource] = part / machine_[resource];
    }
}

void Reservations::look(MonoTime now) {
  if (looked_ && now - *looked_ < between_looks) return;
  looked_ = now;
  const std::string mounts = read_small_file(root_ + "/proc/self/mountinfo").value_or("");
  std::map<std::string, Folder> trees;  // by folder: v2 has all three
  for (const char* controller : controllers)
    if (const auto mount = find_hierarchy(mounts, controller)) {
      Folder& tree = trees[mount->folder];
      tree.disk = root_ + mount->folder;
      tree.path = mount->root;
      tree.v1 = !mount->controllers.empty();
      tree.controllers.emplace_back(controller);
    }
  units_.clear();
  for (const auto& [folder, tree] : trees) walk(tree);
  give_out();
  std::erase_if(processes_, [&](const auto& p) { return ::access(fmt::format("{}/proc/{}", root_, p.first).c_str(), F_OK) != 0; });
  for (const auto& [pid, known] : processes_)  // a job without a cgroup, all of whose processes sleep
    if (known.slurm) {
      Workload workload;
      workload.cgroup = known.cgroup;
      (void)find_place({pid, known.start_ticks}, workload, false);
    }
  std::erase_if(seen_, [&](const auto& entry) { return !at_.contains(entry.first); });
}

const Reservations::Known& Reservations::known_of(ProcessId id, const Workload& workload, bool ended) {
  Known& known = processes_[id.pid];
  if (known.start_ticks == id.start_ticks && known.cgroup == workload.cgroup && !known.paths.empty()) return known;
  known = {id.start_ticks, workload.cgroup, {}, std::nullopt};
  for (const char* controller : controllers) known.paths[controller] = workload.cgroup;
  if (ended) return known;
  const std::string folder = fmt::format("{}/proc/{}", root_, id.pid);
  const std::string text = read_small_file(folder + "/cgroup").value_or("");
  for (const CgroupLine& line : lines_of_proc_cgroup(text))
    for (const char* controller : controllers)
      if (line.has_controller(controller)) known.paths[controller] = line.path;
  known.slurm = slurm_allocation(read_small_file(folder + "/environ").value_or(""));
  return known;
}

// The allocation that only the environment of its processes tells of.
std::size_t Reservations::slurm_job(const SlurmAllocation& slurm, const Place& place, const Workload& workload) {
  Workload of_job;
  of_job.job = slurm.job;
  const std::size_t at = allocation_named("slurm job " + slurm.job, of_job, workload.cgroup);
  Allocation& job = all_[at];
  const auto at_least = [&](Resource resource, double amount) {
    if (!place.of[resource] && machine_[resource] > 0)
      job.share[resource] = std::max(job.share[resource], std::min(1.0, amount / machine_[resource]));
  };
  at_least(cpu, slurm.cpus.value_or(0));
  at_least(memory, static_cast<double>(slurm.memory.value_or(0)));
  job.accelerators = slurm.accelerators;
  return at;
}

// Of whom the allocation is, as far as those in it agree.
void Reservations::note(std::size_t allocation, const Workload& workload) {
  auto& [known, of] = seen_[all_[allocation].name];
  if (!std::exchange(known, true)) {
    of.user = workload.user;
    of.tags = workload.tags;
  } else {
    if (of.user != workload.user) of.user.clear();
    std::erase_if(of.tags, [&](const auto& tag) {
      const auto other = workload.tags.find(tag.first);
      return other == workload.tags.end() || other->second != tag.second;
    });
  }
  all_[allocation].workload.user = of.user;
  all_[allocation].workload.tags = of.tags;
}

Reservations::Place Reservations::place_of(ProcessId id, const Workload& workload, bool ended) {
  const Place place = find_place(id, workload, ended);
  for (const auto& allocation : {place.of[cpu], place.of[memory], place.accelerators})
    if (allocation) note(*allocation, workload);
  return place;
}

Reservations::Place Reservations::find_place(ProcessId id, const Workload& workload, bool ended) {
  const Known& known = known_of(id, workload, ended);
  Place place;
  place.of[cpu] = nearest(known.paths.at("cpu"), cpu);
  if (const auto& set = known.paths.at("cpuset"); set != known.paths.at("cpu"))
    if (const auto other = nearest(set, cpu); other && (!place.of[cpu] || all_[*other].share[cpu] < all_[*place.of[cpu]].share[cpu]))
      place.of[cpu] = other;
  place.of[memory] = nearest(known.paths.at("memory"), memory);
  if (known.slurm && (workload.job.empty() || workload.job == known.slurm->job)) {
    const std::size_t job = slurm_job(*known.slurm, place, workload);
    for (const Resource resource : {cpu, memory})
      if (!place.of[resource] && all_[job].share[resource] > 0) place.of[resource] = job;
    if (!all_[job].accelerators.empty()) place.accelerators = job;
  }
  return place;
}

}  // namespace joulery
