#include "watch/workloads.h"

#include <fmt/format.h>
#include <fnmatch.h>
#include <pwd.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "watch/cgroup_path.h"
#include "watch/proc_stat.h"

namespace joulery {
namespace {

constexpr std::size_t most_cgroups = 20'000;  // remembered at once; nothing tells when one is gone

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t\n"), text.size());
  const std::size_t end = text.find_last_not_of(" \t\n");
  return end == std::string_view::npos ? std::string_view() : text.substr(begin, end - begin + 1);
}

bool fits(const std::string& pattern, const std::string& text) { return pattern.empty() || fnmatch(pattern.c_str(), text.c_str(), 0) == 0; }

// "name:x:1000:…" in the passwd file of a recorded tree.
std::string name_in_passwd(std::string_view text, std::uint32_t user) {
  const std::string number = fmt::format("{}", user);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t first = line.find(':'), second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    if (const std::size_t third = line.find(':', second + 1); line.substr(second + 1, third - second - 1) == number)
      return std::string(line.substr(0, first));
  }
  return number;
}

std::string name_of_user(std::uint32_t user) {
  std::vector<char> buffer(16'384);
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(user, &entry, buffer.data(), buffer.size(), &found) == 0 && found) return found->pw_name;
  return fmt::format("{}", user);
}

}  // namespace

Tags tags_of_text(std::string_view text) {
  Tags tags;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) continue;
    if (const std::string_view name = trimmed(part.substr(0, equals)); !name.empty() && !is_fact(name))
      tags.insert_or_assign(std::string(name), std::string(trimmed(part.substr(equals + 1))));
  }
  return tags;
}

Workloads::Workloads(std::string root, std::vector<TagRule> rules) : root_(std::move(root)), rules_(std::move(rules)), cgroups_(root_) {}

std::optional<std::string> Workloads::read(std::int32_t pid, std::string_view file) const {
  return read_small_file(fmt::format("{}/proc/{}/{}", root_, pid, file));
}

void Workloads::remember(std::uint64_t cgroup, const std::string& path) {
  if (by_cgroup_.size() >= most_cgroups) by_cgroup_.clear();
  if (cgroup != 0) by_cgroup_.insert_or_assign(cgroup, path);
}

void Workloads::learn(std::span<const CgroupName> made) {
  for (const CgroupName& cgroup : made) remember(cgroup.id, cgroup.path);
}

// The part of a workload that its cgroup says. With v1 the other hierarchies may say more than the one that accounts CPU time,
// but only of this process: others in the same cgroup need not be with it in theirs.
Workload Workloads::cgroup_of(const CpuUse& use) {
  const auto text = use.ended ? std::nullopt : read(use.id.pid, "cgroup");
  if (text && !text->empty()) {
    std::string path = cgroups_.path_in(*text);
    if (use.cgroup == 0 || cgroups_.id_of(path) == use.cgroup) {  // else it has moved meanwhile
      Workload workload = workload_of_proc_cgroup(*text);
      remember(use.cgroup, path);
      workload.cgroup = std::move(path);
      return workload;
    }
  }
  if (const auto parent = processes_.find(use.parent);
      parent != processes_.end() && use.cgroup != 0 && parent->second.cgroup == use.cgroup && !parent->second.all.cgroup.empty()) {
    Workload workload = parent->second.all;
    workload.tags.clear();
    return workload;
  }
  const auto known = by_cgroup_.find(use.cgroup);
  const auto path = known != by_cgroup_.end() ? std::optional(known->second) : cgroups_.path_of(use.cgroup);
  if (!path) return {};
  Workload workload = workload_of_cgroup(*path);
  workload.cgroup = *path;
  return workload;
}

std::string Workloads::user_name(std::uint32_t user) {
  std::string& name = users_[user];
  if (name.empty()) name = root_.empty() ? name_of_user(user) : name_in_passwd(read_small_file(root_ + "/etc/passwd").value_or(""), user);
  return name;
}

Workloads::Own Workloads::own_of(const CpuUse& use) const {
  const auto environment = use.ended ? std::nullopt : read(use.id.pid, "environ");
  if (!environment) {
    const auto parent = processes_.find(use.parent);
    return parent == processes_.end() ? Own{} : parent->second.own;
  }
  const auto value_of = [&](const std::string& name) -> std::string_view {
    for (std::string_view rest = *environment; !rest.empty();) {
      const std::string_view entry = rest.substr(0, std::min(rest.find('\0'), rest.size()));
      if (entry.starts_with(name) && entry.substr(name.size()).starts_with('=')) return entry.substr(name.size() + 1);
      rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
    }
    return {};
  };
  Own own{tags_of_text(value_of("JOULERY_TAGS")), {}};
  for (const TagRule& rule : rules_)
    if (const auto value = rule.variable.empty() ? std::string_view() : trimmed(value_of(rule.variable)); !value.empty())
      own.variables.insert_or_assign(rule.variable, std::string(value));
  return own;
}

void Workloads::add_tags(const CpuUse& use, const Own& own, Workload& workload) const {
  workload.tags = own.tags;
  for (const TagRule& rule : rules_) {
    const auto said = own.variables.find(rule.variable);
    if (!rule.variable.empty() && said == own.variables.end()) continue;
    if (fits(rule.user, workload.user) && fits(rule.unit, workload.unit) && fits(rule.name, use.name) && fits(rule.cgroup, workload.cgroup))
      for (const auto& [name, value] : rule.tags) workload.tags.insert_or_assign(name, rule.variable.empty() ? value : said->second);
  }
}

const Workload& Workloads::of(const CpuUse& use) {
  Known& known = processes_[use.id.pid];
  const bool same = known.start_ticks == use.id.start_ticks && !known.name.empty();
  const bool stayed = use.cgroup == 0 || known.cgroup == use.cgroup;  // 0: who asks does not know it
  if (same && stayed && known.user == use.user && known.name == use.name) return known.all;
  Workload workload = cgroup_of(use);
  workload.user = user_name(use.user);
  const bool new_program = !same || known.name != use.name;
  Own own = new_program ? own_of(use) : known.own;
  add_tags(use, own, workload);
  Known& fresh = processes_[use.id.pid];
  fresh = {use.id.start_ticks, use.cgroup, use.user, use.name, std::move(own), std::move(workload)};
  return fresh.all;
}

void Workloads::forget(std::span<const ProcessId> ended) {
  for (const ProcessId& id : ended)
    if (const auto known = processes_.find(id.pid); known != processes_.end() && known->second.start_ticks == id.start_ticks)
      processes_.erase(known);
}

}  // namespace joulery
