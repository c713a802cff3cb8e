// The folders of the cgroup hierarchy that accounts CPU time: from the path of a cgroup to its id, which is the inode of its
// folder, and back. On a recorded tree the inode is that of the folder there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/time.h"
#include "watch/cgroup_mounts.h"

namespace joulery {

class CgroupFolders {
 public:
  // `root` holds proc/ and sys/, "" for this machine.
  explicit CgroupFolders(std::string root = {});

  // Nothing where no such hierarchy is mounted: no id has a path then.
  const std::optional<CgroupMount>& mount() const { return mount_; }
  // The path in this hierarchy, from the text of /proc/PID/cgroup. Empty where it says nothing.
  std::string path_in(std::string_view proc_cgroup) const;
  // 0 where there is no such cgroup, or none that is to be seen from here.
  std::uint64_t id_of(std::string_view path) const;
  // Looks through all folders where the id is not known yet, but no more often than once a second. Nothing where there is none.
  std::optional<std::string> path_of(std::uint64_t id);

 private:
  void look_through(const std::string& folder, const std::string& path);

  std::string root_;
  std::optional<CgroupMount> mount_;
  std::unordered_map<std::uint64_t, std::string> paths_;
  std::optional<MonoTime> looked_;
};

}  // namespace joulery
