#include "watch/cgroup_folders.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>

#include "watch/cgroup_path.h"
#include "watch/proc_stat.h"

namespace joulery {

CgroupFolders::CgroupFolders(std::string root)
    : root_(std::move(root)), mount_(find_cpu_hierarchy(read_small_file(root_ + "/proc/self/mountinfo").value_or(""))) {}

std::string CgroupFolders::path_in(std::string_view proc_cgroup) const {
  std::string_view unified;
  for (const CgroupLine& line : lines_of_proc_cgroup(proc_cgroup)) {
    if (mount_ && !mount_->controllers.empty() && line.has_controller(mount_->controller == CpuController::cpu ? "cpu" : "cpuacct"))
      return std::string(line.path);
    if (line.controllers.empty()) unified = line.path;
  }
  return std::string(unified);
}

std::uint64_t CgroupFolders::id_of(std::string_view path) const {
  if (!mount_ || path.empty()) return 0;
  if (mount_->root != "/") {  // only this one and those below are to be seen
    if (!path.starts_with(mount_->root)) return 0;
    path.remove_prefix(mount_->root.size());
  }
  struct stat info{};
  return stat((root_ + mount_->folder + std::string(path)).c_str(), &info) == 0 ? info.st_ino : 0;
}

void CgroupFolders::look_through(const std::string& folder, const std::string& path) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(folder.c_str()), closedir);
  if (!open) return;
  while (const dirent* entry = readdir(open.get())) {
    const std::string_view name(entry->d_name);
    if (entry->d_type != DT_DIR || name == "." || name == "..") continue;
    std::string below = (path == "/" ? "" : path) + "/" + std::string(name);
    look_through(folder + "/" + std::string(name), below);
    paths_[entry->d_ino] = std::move(below);
  }
}

std::optional<std::string> CgroupFolders::path_of(std::uint64_t id) {
  if (!mount_ || id == 0) return std::nullopt;
  auto found = paths_.find(id);
  const MonoTime now = mono_now();
  if (found == paths_.end() && (!looked_ || now - *looked_ > seconds(1))) {
    looked_ = now;
    paths_.clear();
    if (const std::uint64_t top = id_of(mount_->root)) paths_[top] = mount_->root;
    look_through(root_ + mount_->folder, mount_->root);
    found = paths_.find(id);
  }
  return found == paths_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace joulery
