#include "watch/cgroup_path.h"

#include <algorithm>
#include <array>
#include <optional>

namespace joulery {
namespace {

enum class Id : std::uint8_t { hex, name };  // 64 hex digits; or any name, as systemd escapes it

// How runtimes write the name of a container's cgroup, whatever it lies in. The first that fits.
struct ContainerName {
  std::string_view before, after;
  Id id;
  std::string_view runtime;  // "": it is no container
};
constexpr ContainerName container_names[] = {
    {"docker-", ".scope", Id::hex, "docker"},
    {"cri-containerd-", ".scope", Id::hex, "containerd"},
    {"containerd-", ".scope", Id::hex, "containerd"},
    {"nerdctl-", ".scope", Id::hex, "containerd"},
    {"crio-conmon-", ".scope", Id::hex, ""},  // who watches over the container, not it
    {"crio-", ".scope", Id::hex, "cri-o"},
    {"crio-", "", Id::hex, "cri-o"},
    {"libpod-conmon-", ".scope", Id::hex, ""},
    {"libpod-conmon-", "", Id::hex, ""},
    {"libpod-payload-", "", Id::hex, "podman"},
    {"libpod-", ".scope", Id::hex, "podman"},
    {"libpod-", "", Id::hex, "podman"},
    {"machine-qemu\\x2d", ".scope", Id::name, ""},  // a virtual machine of libvirt
    {"machine-", ".scope", Id::name, "systemd-nspawn"},
    {"systemd-nspawn@", ".service", Id::name, "systemd-nspawn"},
    {"lxc.payload.", "", Id::name, "lxc"},
};

// Container names in the form SLICE:RUNTIME:ID, where a runtime without systemd is given systemd's form of a path.
struct ColonName {
  std::string_view between, runtime;
};
constexpr ColonName colon_names[] = {
    {"cri-containerd", "containerd"}, {"crio", "cri-o"}, {"docker", "docker"}, {"libpod", "podman"}, {"nerdctl", "containerd"}};

// Folders below which a bare id is a container of this runtime.
struct Parent {
  std::string_view name, runtime;
  Id id;
};
constexpr Parent parents[] = {
    {"docker", "docker", Id::hex},      {"moby", "docker", Id::hex},          {"k8s.io", "containerd", Id::hex},
    {"default", "containerd", Id::hex}, {"libpod_parent", "podman", Id::hex}, {"lxc", "lxc", Id::name},
    {"lxc.payload", "lxc", Id::name},
};

constexpr std::string_view unit_suffixes[] = {".service", ".scope", ".socket", ".mount", ".swap"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }
bool is_container_id(std::string_view text) { return text.size() == 64 && std::ranges::all_of(text, is_hex); }
bool is_number(std::string_view text) { return !text.empty() && std::ranges::all_of(text, is_digit); }

// What is between `before` and `after`; nothing where it is not framed by them, or nothing is in between.
std::optional<std::string_view> between(std::string_view text, std::string_view before, std::string_view after) {
  if (text.size() <= before.size() + after.size() || !text.starts_with(before) || !text.ends_with(after)) return std::nullopt;
  return text.substr(before.size(), text.size() - before.size() - after.size());
}

// systemd writes what it must not have in a name as \xHH.
std::string unescaped(std::string_view text) {
  const auto value = [](char c) { return is_digit(c) ? c - '0' : c - 'a' + 10; };
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with("\\x") && i + 3 < text.size() && is_hex(text[i + 2]) && is_hex(text[i + 3])) {
      plain += static_cast<char>(value(text[i + 2]) * 16 + value(text[i + 3]));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

// A pod's uid: with dashes (systemd: underscores), or the 32 hex digits of a static pod.
std::optional<std::string> pod_uid(std::string_view text) {
  std::string uid(text);
  std::ranges::replace(uid, '_', '-');
  if (uid.size() == 32 && std::ranges::all_of(uid, is_hex)) return uid;
  if (uid.size() != 36) return std::nullopt;
  for (std::size_t i = 0; i < uid.size(); ++i)
    if (i == 8 || i == 13 || i == 18 || i == 23 ? uid[i] != '-' : !is_hex(uid[i])) return std::nullopt;
  return uid;
}

// "pod<uid>" of the driver cgroupfs; "kubepods-burstable-pod<uid>.slice" of systemd's.
std::optional<std::string> pod_of(std::string_view segment) {
  if (const auto uid = between(segment, "pod", "")) return pod_uid(*uid);
  const std::size_t at = segment.rfind("-pod");
  if (at == std::string_view::npos || !segment.substr(0, at).contains("kubepods") || !segment.ends_with(".slice")) return std::nullopt;
  return pod_uid(segment.substr(at + 4, segment.size() - at - 4 - std::string_view(".slice").size()));
}

bool is_slurm(std::string_view segment) {
  return segment == "slurm" || segment.starts_with("slurm_") || segment == "slurmstepd.scope" || segment.ends_with("_slurmstepd.scope");
}

// Reads a path from the outside to the inside.
class PathReader {
 public:
  void read(std::string_view segment) {
    read_slurm(segment);
    if (const auto pod = pod_of(segment)) found_.pod = *pod;
    if (!read_colons(segment) && !read_container(segment)) read_bare_id(segment);
    if (std::ranges::any_of(unit_suffixes,
                            [&](std::string_view suffix) { return segment.size() > suffix.size() && segment.ends_with(suffix); }))
      found_.unit = segment;
    parent_ = segment;
  }
  Workload take() { return std::move(found_); }

 private:
  void contain(std::string container, std::string_view runtime) {
    found_.container = std::move(container);
    found_.runtime = runtime;
  }

  void read_slurm(std::string_view segment) {
    in_slurm_ = in_slurm_ || is_slurm(segment);
    if (!in_slurm_) return;
    if (const auto job = between(segment, "job_", ""); job && is_number(*job)) {
      found_.job = *job;
      found_.step.clear();
    } else if (const auto step = between(segment, "step_", ""); step && !found_.job.empty()) {
      found_.step = found_.job + "." + std::string(*step);
    }
  }

  bool read_colons(std::string_view segment) {
    const std::size_t first = segment.find(':'), last = segment.rfind(':');
    if (first == std::string_view::npos || first == last || !is_container_id(segment.substr(last + 1))) return false;
    if (const auto pod = pod_of(segment.substr(0, first))) found_.pod = *pod;
    const std::string_view name = segment.substr(first + 1, last - first - 1);
    const auto row = std::ranges::find(colon_names, name, &ColonName::between);
    contain(std::string(segment.substr(last + 1)), row == std::end(colon_names) ? std::string_view() : row->runtime);
    return true;
  }

  bool read_container(std::string_view segment) {
    for (const ContainerName& row : container_names) {
      const auto id = between(segment, row.before, row.after);
      if (!id || (row.id == Id::hex && !is_container_id(*id))) continue;
      if (!row.runtime.empty()) contain(row.id == Id::hex ? std::string(*id) : unescaped(*id), row.runtime);
      return true;
    }
    return false;
  }

  void read_bare_id(std::string_view segment) {
    const auto row = std::ranges::find(parents, parent_, &Parent::name);
    const bool known = row != std::end(parents);
    if (is_container_id(segment))
      contain(std::string(segment), known ? row->runtime : std::string_view());
    else if (known && row->id == Id::name)
      contain(std::string(segment), row->runtime);
  }

  Workload found_;
  std::string_view parent_;
  bool in_slurm_ = false;
};

}  // namespace

Workload workload_of_cgroup(std::string_view path) {
  PathReader reader;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    if (const std::string_view segment = path.substr(0, end); !segment.empty() && segment != "..") reader.read(segment);
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return reader.take();
}

bool CgroupLine::has_controller(std::string_view name) const {
  for (std::string_view rest = controllers; !rest.empty();) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    if (rest.substr(0, end) == name) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

std::vector<CgroupLine> lines_of_proc_cgroup(std::string_view text) {
  constexpr std::string_view deleted = " (deleted)";
  std::vector<CgroupLine> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t number = line.find(':');
    if (number == std::string_view::npos || !is_number(line.substr(0, number))) continue;
    line.remove_prefix(number + 1);
    const std::size_t colon = line.find(":/");  // the name of a v1 hierarchy may hold a colon, its path begins with a slash
    if (colon == std::string_view::npos) continue;
    std::string_view path = line.substr(colon + 1);
    if (path.ends_with(deleted)) path.remove_suffix(deleted.size());
    lines.push_back({line.substr(0, colon), path});
  }
  return lines;
}

Workload workload_of_proc_cgroup(std::string_view text) {
  auto lines = lines_of_proc_cgroup(text);
  const auto rank = [](const CgroupLine& line) {
    constexpr std::array<std::string_view, 7> first = {"cpuacct", "cpu", "", "memory", "pids", "cpuset", "freezer"};
    const auto fits = [&](std::string_view name) { return name.empty() ? line.controllers.empty() : line.has_controller(name); };
    return std::ranges::find_if(first, fits) - first.begin();
  };
  std::ranges::stable_sort(lines, {}, rank);
  Workload all;
  for (const CgroupLine& line : lines) {
    const Workload here = workload_of_cgroup(line.path);
    if (all.container.empty() && !here.container.empty()) all.container = here.container, all.runtime = here.runtime;
    if (all.pod.empty()) all.pod = here.pod;
    if (all.unit.empty()) all.unit = here.unit;
    if (all.job.empty() || (all.step.empty() && all.job == here.job)) all.job = here.job, all.step = here.step;
  }
  if (all.runtime.empty())  // another hierarchy may say it of the same container
    for (const CgroupLine& line : lines)
      if (const Workload here = workload_of_cgroup(line.path); here.container == all.container && !here.runtime.empty())
        all.runtime = here.runtime;
  return all;
}

}  // namespace joulery
