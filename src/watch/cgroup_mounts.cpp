#include "watch/cgroup_mounts.h"

#include <algorithm>
#include <vector>

namespace joulery {
namespace {

std::vector<std::string_view> words_of(std::string_view text, char between) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(between), text.size());
    if (end > 0) words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

// Blanks, tabs, line ends and backslashes in paths are written as three octal digits.
std::string unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto digit = [&](std::size_t at) { return text[at] >= '0' && text[at] <= '7' ? text[at] - '0' : -1; };
    if (text[i] == '\\' && i + 3 < text.size() && digit(i + 1) >= 0 && digit(i + 2) >= 0 && digit(i + 3) >= 0) {
      plain += static_cast<char>(digit(i + 1) * 64 + digit(i + 2) * 8 + digit(i + 3));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

// The controllers of a v1 hierarchy in the order of its mount, "cpu,cpuacct"; the rest of the options are not theirs.
std::string controllers_of(std::string_view options) {
  std::string joined;
  for (const std::string_view option : words_of(options, ',')) {
    constexpr std::string_view others[] = {"rw", "ro", "xattr", "clone_children", "cpuset_v2_mode", "noprefix", "seclabel"};
    if (std::ranges::find(others, option) != std::end(others) || option.starts_with("release_agent=")) continue;
    joined += (joined.empty() ? "" : ",") + std::string(option);
  }
  return joined;
}

bool holds(std::string_view list, std::string_view name) {
  const auto names = words_of(list, ',');
  return std::ranges::find(names, name) != names.end();
}

// "36 35 98:0 /root /folder rw,noatime master:1 - cgroup cgroup rw,cpu,cpuacct"
std::optional<CgroupMount> any_mount_of_line(std::string_view line) {
  const std::size_t dash = line.find(" - ");
  if (dash == std::string_view::npos) return std::nullopt;
  const auto head = words_of(line.substr(0, dash), ' '), tail = words_of(line.substr(dash + 3), ' ');
  if (head.size() < 5 || tail.size() < 2) return std::nullopt;
  CgroupMount mount{CpuController::unified, unescaped(head[4]), unescaped(head[3]), {}};
  if (tail[0] == "cgroup2") return mount;
  if (tail[0] != "cgroup" || tail.size() < 3) return std::nullopt;
  mount.controllers = controllers_of(tail[2]);
  return mount.controllers.empty() ? std::nullopt : std::optional(std::move(mount));
}

std::optional<CgroupMount> mount_of_line(std::string_view line) {
  auto mount = any_mount_of_line(line);
  if (!mount || mount->controllers.empty()) return mount;
  if (!holds(mount->controllers, "cpuacct") && !holds(mount->controllers, "cpu")) return std::nullopt;
  mount->controller = holds(mount->controllers, "cpuacct") ? CpuController::cpuacct : CpuController::cpu;
  return mount;
}

}  // namespace

std::optional<CgroupMount> find_cpu_hierarchy(std::string_view mountinfo) {
  const auto rank = [](const CgroupMount& mount) {
    constexpr int by_controller[] = {2, 0, 1};  // unified, cpuacct, cpu
    return by_controller[static_cast<int>(mount.controller)] * 2 + (mount.root == "/" ? 0 : 1);
  };
  std::optional<CgroupMount> best;
  for (const std::string_view line : words_of(mountinfo, '\n')) {
    auto mount = mount_of_line(line);
    if (mount && (!best || rank(*mount) < rank(*best))) best = std::move(mount);
  }
  return best;
}

std::optional<CgroupMount> find_hierarchy(std::string_view mountinfo, std::string_view controller) {
  std::optional<CgroupMount> best;
  for (const std::string_view line : words_of(mountinfo, '\n')) {
    auto mount = any_mount_of_line(line);
    if (!mount || (!mount->controllers.empty() && !holds(mount->controllers, controller))) continue;
    const auto rank = [](const CgroupMount& m) { return (m.controllers.empty() ? 2 : 0) + (m.root == "/" ? 0 : 1); };
    if (!best || rank(*mount) < rank(*best)) best = std::move(mount);
  }
  return best;
}

}  // namespace joulery
