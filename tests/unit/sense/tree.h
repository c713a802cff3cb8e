// A small machine of files in a temporary folder, for probes and meters to read; removed with the object.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "sense/machine.h"
#include "sense/meter.h"

namespace joulery::testing {

class Tree {
 public:
  Tree() {
    std::string pattern = (std::filesystem::temp_directory_path() / "joulery-tree-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
    std::filesystem::permissions(root_, std::filesystem::perms(0755));
  }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  ~Tree() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }

  // Writes the text as it is; folders are made.
  Tree& file(const std::string& path, const std::string& text) {
    const std::filesystem::path full = root_ + path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full, std::ios::binary | std::ios::trunc) << text;
    return *this;
  }
  // A new file takes the place of the old one, as writers do that never show a half-written one.
  Tree& replace(const std::string& path, const std::string& text) {
    file(path + ".new", text);
    std::filesystem::rename(root_ + path + ".new", root_ + path);
    return *this;
  }
  Tree& remove(const std::string& path) {
    std::filesystem::remove_all(root_ + path);
    return *this;
  }
  Tree& mode(const std::string& path, unsigned bits) {
    std::filesystem::permissions(root_ + path, std::filesystem::perms(bits));
    return *this;
  }
  // A RAPL zone as the kernel lays it out.
  Tree& zone(const std::string& id, const std::string& name, std::int64_t energy_uj, std::int64_t range_uj = 262143328850) {
    const std::string folder = "/sys/class/powercap/" + id;
    return file(folder + "/name", name + "\n")
        .file(folder + "/energy_uj", std::to_string(energy_uj) + "\n")
        .file(folder + "/max_energy_range_uj", std::to_string(range_uj) + "\n")
        .file(folder + "/enabled", "1\n");
  }

  const std::string& root() const { return root_; }
  Machine machine() const { return Machine(root_); }

 private:
  std::string root_;
};

inline const Channel* channel_named(const Meter& meter, std::string_view name) {
  for (const Channel& channel : meter.channels())
    if (channel.name == name) return &channel;
  return nullptr;
}

// The reading of the channel with this name in one fresh round.
inline Reading read_channel(Meter& meter, std::string_view name) {
  const std::vector<Reading> round = read_once(meter);
  for (std::size_t i = 0; i < round.size(); ++i)
    if (meter.channels()[i].name == name) return round[i];
  ADD_FAILURE() << "no channel " << name;
  return {};
}

inline std::vector<std::string> component_paths(const Meter& meter) {
  std::vector<std::string> paths;
  for (const Channel& channel : meter.channels()) paths.push_back(channel.component.path());
  return paths;
}

inline const Finding* finding_for(const Discovery& discovery, std::string_view device) {
  for (const Finding& finding : discovery.findings)
    if (finding.device == device) return &finding;
  return nullptr;
}

// Runs `check` in a child process as an ordinary user, for whom file modes count; true where it returns true.
// Root may become anybody; anyone else stays who they are, which serves as well.
template <class Check>
bool holds_for_ordinary_user(Check check) {
  const pid_t child = ::fork();
  if (child == 0) {
    const bool changed = ::geteuid() != 0 || (::setresgid(65534, 65534, 65534) == 0 && ::setresuid(65534, 65534, 65534) == 0);
    ::_exit(changed && check() ? 0 : 1);
  }
  int status = 0;
  return child > 0 && ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace joulery::testing
