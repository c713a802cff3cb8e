// A machine of plain files for the tests of who: processes in proc/, cgroups in sys/fs/cgroup.
#pragma once

#include <string>

#include "tests/unit/watch/helpers.h"

namespace joulery {

class MachineTree {
 public:
  MachineTree() {
    mounts("30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    busy(0);
  }
  std::string root() const { return (folder_ / "").string(); }
  void write(const std::string& path, const std::string& content) const {
    fs::create_directories((folder_ / path).parent_path());
    std::ofstream(folder_ / path, std::ios::binary) << content;
  }
  void mounts(const std::string& text) const { write("proc/self/mountinfo", text); }
  // CPU time of the whole machine, in ticks, on two CPUs.
  void busy(long ticks) const {
    write("proc/stat", "cpu  " + std::to_string(ticks) + " 0 0 9 9 9 9 9 0 0\ncpu0 1 0 0\ncpu1 1 0 0\nintr 5\n");
  }

  struct Process {
    int pid;
    long start;
    long long ns;
    std::string name = "work";
    int parent = 1;
    int user = 0;
    std::string cgroup = "0::/\n";
    long ticks = 0;
  };
  void put(const Process& p) const {
    const std::string pid = std::to_string(p.pid), folder = "proc/" + pid + "/";
    write(folder + "stat", pid + " (" + p.name + ") S " + std::to_string(p.parent) + " 1 1 0 -1 0 0 0 0 0 " + std::to_string(p.ticks) +
                               " 0 0 0 20 0 1 0 " + std::to_string(p.start) + " 0 0\n");
    write(folder + "status", "Name:\tx\nUid:\t" + std::to_string(p.user) + "\t0\t0\t0\nGid:\t7\t7\t7\t7\n");
    write(folder + "cgroup", p.cgroup);
    write(folder + "task/" + pid + "/schedstat", std::to_string(p.ns) + " 0 1\n");
  }
  void end(int pid) const { fs::remove_all(folder_ / ("proc/" + std::to_string(pid))); }
  // A cgroup below the mount; its id.
  std::uint64_t cgroup(const std::string& path, const std::string& mount = "sys/fs/cgroup") const {
    fs::create_directories(folder_ / (mount + path));
    struct stat info{};
    stat((folder_ / (mount + path)).c_str(), &info);
    return info.st_ino;
  }
  void remove_cgroup(const std::string& path) const { fs::remove_all(folder_ / ("sys/fs/cgroup" + path)); }

 private:
  Folder folder_;
};

}  // namespace joulery
