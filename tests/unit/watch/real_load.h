// What the tests against the real kernel share: processes that burn CPU time and say how much, cgroups, sums of uses. What is
// expected is what the processes themselves report, so that a machine with other work on it changes nothing.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <functional>
#include <map>

#include "tests/unit/watch/helpers.h"
#include "watch/cgroup_folders.h"
#include "watch/cpu_account.h"

namespace joulery {

inline std::int64_t own_cpu() { return clock_ns(CLOCK_PROCESS_CPUTIME_ID); }

inline void burn_cpu(std::int64_t ns) {
  while (own_cpu() < ns) {}
}

// What a use says, summed over looks; by process.
struct Sums {
  std::map<std::int32_t, std::int64_t> cpu;
  std::map<std::pair<std::int32_t, std::uint64_t>, std::int64_t> in_cgroup;
  std::map<std::int32_t, std::string> name;
  std::map<std::int32_t, std::uint32_t> user;
  std::map<std::int32_t, std::int32_t> parent;
  std::map<std::uint64_t, std::string> cgroups;
  std::vector<ProcessId> ended;
  std::int64_t all = 0, unattributed = 0;

  void add(const CpuUses& uses) {
    for (const CpuUse& use : uses.processes) {
      cpu[use.id.pid] += use.cpu.base_units();
      in_cgroup[{use.id.pid, use.cgroup}] += use.cpu.base_units();
      name[use.id.pid] = use.name;
      user[use.id.pid] = use.user;
      parent[use.id.pid] = use.parent;
      all += use.cpu.base_units();
      if (use.ended) ended.push_back(use.id);
    }
    for (const CgroupName& made : uses.cgroups) cgroups[made.id] = made.path;
    unattributed += uses.unattributed.base_units();
  }
  bool look(CpuAccount& account) {
    const auto uses = account.read();
    if (uses) add(*uses);
    return uses.has_value();
  }
};

// Whether it sleeps: its slice is told then. A process that was given no CPU for a while may take its time.
inline bool is_asleep(pid_t pid) {
  std::ifstream stat(fmt::format("/proc/{}/stat", pid));
  std::string text;
  std::getline(stat, text);
  return text.substr(text.rfind(')') + 1, 2) == " S";
}

// A child that waits for go(), burns and reports its own CPU time, then waits for its end. It dies with us.
class Burner {
 public:
  explicit Burner(std::function<void()> work) {
    report_ = static_cast<std::int64_t*>(mmap(nullptr, sizeof *report_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    EXPECT_EQ(pipe(go_), 0);
    EXPECT_EQ(pipe(done_), 0);
    pid = fork();
    if (pid != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    char byte = 0;
    if (read(go_[0], &byte, 1) != 1) _exit(1);
    work();
    *report_ = own_cpu();
    if (write(done_[1], &byte, 1) != 1) _exit(1);
    pause();
    _exit(0);
  }
  Burner(const Burner&) = delete;
  ~Burner() {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    munmap(report_, sizeof *report_);
    for (const int fd : {go_[0], go_[1], done_[0], done_[1]}) close(fd);
  }
  void go() const { EXPECT_EQ(write(go_[1], "", 1), 1); }
  // Waits until it has burnt; its CPU time.
  std::int64_t wait() const {
    char byte = 0;
    EXPECT_EQ(read(done_[0], &byte, 1), 1);
    for (int i = 0; i < 500 && !is_asleep(pid); ++i) usleep(10'000);
    usleep(30'000);  // a slice under way is known up to the last tick alone
    return *report_;
  }
  pid_t pid = 0;

 private:
  std::int64_t* report_;
  int go_[2], done_[2];
};

// Two cgroups in the hierarchy that accounts CPU time, gone with the object.
class TwoCgroups {
 public:
  TwoCgroups() {
    if (!folders_.mount()) return;
    for (const char* name : {"a", "b"}) {
      const std::string path = fmt::format("/joulery-test-{}-{}", getpid(), name), folder = folders_.mount()->folder + path;
      if (mkdir(folder.c_str(), 0755) != 0) return;
      made_.push_back(folder);
      ids_.push_back(folders_.id_of(folders_.mount()->root == "/" ? path : folders_.mount()->root + path));
    }
  }
  TwoCgroups(const TwoCgroups&) = delete;
  ~TwoCgroups() {
    for (const std::string& folder : made_)
      for (int i = 0; i < 100 && rmdir(folder.c_str()) != 0; ++i) usleep(10'000);  // a process that was killed takes a moment
  }
  bool ready() const { return made_.size() == 2; }
  bool put(pid_t pid, std::size_t which) const {
    return static_cast<bool>(std::ofstream(made_[which] + "/cgroup.procs") << pid << std::flush);
  }
  std::uint64_t id(std::size_t which) const { return ids_[which]; }
  CpuController controller() const { return folders_.mount() ? folders_.mount()->controller : CpuController::unified; }

 private:
  CgroupFolders folders_;
  std::vector<std::string> made_;
  std::vector<std::uint64_t> ids_;
};

inline CpuController accounting() {
  const CgroupFolders folders;
  return folders.mount() ? folders.mount()->controller : CpuController::unified;
}

inline std::string unified_mount() {
  std::ifstream lines("/proc/self/mountinfo");
  std::string line;
  while (std::getline(lines, line))
    if (line.contains(" - cgroup2 ")) return find_cpu_hierarchy(line)->folder;
  return {};
}

inline void expect_within(std::int64_t found, std::int64_t expected, double part, const char* what) {
  EXPECT_NEAR(static_cast<double>(found), static_cast<double>(expected), part * static_cast<double>(expected)) << what;
}

}  // namespace joulery
