// The accounts against the real kernel. What is expected is what the processes themselves report as their CPU time, so that a
// machine with other work on it changes nothing. Skips, and says so, where eBPF or cgroups are not allowed.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <functional>
#include <map>
#include <numeric>

#include "tests/unit/watch/helpers.h"
#include "watch/bpf_account.h"
#include "watch/cgroup_folders.h"
#include "watch/open_cpu_account.h"
#include "watch/proc_account.h"

namespace joulery {
namespace {

std::int64_t own_cpu() { return clock_ns(CLOCK_PROCESS_CPUTIME_ID); }

void burn_cpu(std::int64_t ns) {
  while (own_cpu() < ns) {}
}

// What a use says, summed over looks; by process.
struct Sums {
  std::map<std::int32_t, std::int64_t> cpu;
  std::map<std::pair<std::int32_t, std::uint64_t>, std::int64_t> in_cgroup;
  std::map<std::int32_t, std::string> name;
  std::map<std::int32_t, std::uint32_t> user;
  std::map<std::int32_t, std::int32_t> parent;
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
    }
    unattributed += uses.unattributed.base_units();
    ended.insert(ended.end(), uses.ended.begin(), uses.ended.end());
  }
  bool look(CpuAccount& account) {
    const auto uses = account.read();
    if (uses) add(*uses);
    return uses.has_value();
  }
};

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

CpuController accounting() {
  const CgroupFolders folders;
  return folders.mount() ? folders.mount()->controller : CpuController::unified;
}

void expect_within(std::int64_t found, std::int64_t expected, double part, const char* what) {
  EXPECT_NEAR(static_cast<double>(found), static_cast<double>(expected), part * static_cast<double>(expected)) << what;
}

class RealAccount : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    auto opened = GetParam() ? open_bpf_account({accounting()}) : open_proc_account();
    if (!opened) GTEST_SKIP() << "skipped: " << opened.error().line();
    account = *std::move(opened);
  }
  std::unique_ptr<CpuAccount> account;
  Sums sums;
};

INSTANTIATE_TEST_SUITE_P(Ways, RealAccount, testing::Bool(), [](const auto& way) { return way.param ? "Ebpf" : "Proc"; });

// One CPU, one of them as nice as gives it a third of what the other has.
TEST_P(RealAccount, TwoCgroupsHaveTheirShares) {
  const TwoCgroups cgroups;
  if (!cgroups.ready()) GTEST_SKIP() << "skipped: no cgroups can be made here";
  cpu_set_t before, one;
  sched_getaffinity(0, sizeof before, &before);
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  const std::int64_t until = mono_now().ns + 1'200'000'000;
  const auto spin = [&](int kindness) {
    sched_setaffinity(0, sizeof one, &one);
    if (nice(kindness) == -1) return;
    while (mono_now().ns < until) {}
  };
  const Burner a([&] { spin(0); }), b([&] { spin(5); });
  if (!cgroups.put(a.pid, 0) || !cgroups.put(b.pid, 1)) GTEST_SKIP() << "skipped: no process can be put into a cgroup here";
  a.go(), b.go();
  usleep(500'000);
  ASSERT_TRUE(sums.look(*account));
  const std::int64_t used_a = a.wait(), used_b = b.wait();
  ASSERT_TRUE(sums.look(*account));
  const std::int64_t in_a = sums.in_cgroup[{a.pid, cgroups.id(0)}], in_b = sums.in_cgroup[{b.pid, cgroups.id(1)}];
  const double share = static_cast<double>(in_a) / static_cast<double>(in_a + in_b);
  const double truth = static_cast<double>(used_a) / static_cast<double>(used_a + used_b);
  EXPECT_NEAR(share, truth, 0.02);
  RecordProperty("share", fmt::format("{:.4f} of {:.4f}", share, truth));
  expect_within(in_a, used_a, 0.02, "a");
  expect_within(in_b, used_b, 0.02, "b");
}

TEST_P(RealAccount, NeverMoreThanTheCpusHad) {
  const MonoTime begin = mono_now();
  const Burner burner([] { burn_cpu(300'000'000); });
  burner.go();
  const std::int64_t cpus = sysconf(_SC_NPROCESSORS_CONF);
  const auto first = account->read();
  ASSERT_TRUE(first);
  const MonoTime opened = first->when.begin;
  sums.add(*first);
  EXPECT_LE(opened, begin);
  for (int look = 0; look < 6; ++look) {
    usleep(60'000);
    const auto uses = account->read();
    ASSERT_TRUE(uses);
    sums.add(*uses);
    EXPECT_LE(sums.all + sums.unattributed, cpus * (uses->when.end - opened).base_units());
    EXPECT_GE(uses->unattributed, Duration{});
  }
  const std::int64_t used = burner.wait();
  ASSERT_TRUE(sums.look(*account));
  expect_within(sums.cpu[burner.pid], used, 0.03, "burner");
}

// Threads that have ended count; so does a kernel thread, without a fault.
TEST_P(RealAccount, ThreadsCountForTheirProcess) {
  const Burner burner([] {
    for (int i = 1; i <= 3; ++i) std::thread([i] { burn_cpu(i * 40'000'000); }).join();
  });
  burner.go();
  const std::int64_t used = burner.wait();
  ASSERT_TRUE(sums.look(*account));
  expect_within(sums.cpu[burner.pid], used, 0.03, "burner");
  EXPECT_EQ(sums.parent[burner.pid], getpid());
  EXPECT_EQ(sums.user[burner.pid], getuid());
}

TEST_P(RealAccount, AnEndedProcessIsTold) {
  pid_t pid = 0;
  {
    const Burner burner([] { burn_cpu(30'000'000); });
    pid = burner.pid;
    burner.go();
    burner.wait();
    ASSERT_TRUE(sums.look(*account));
  }
  ASSERT_TRUE(sums.look(*account));
  EXPECT_TRUE(std::ranges::any_of(sums.ended, [&](const ProcessId& id) { return id.pid == pid; }));
  const auto before = sums.ended.size();
  sums.ended.clear();
  ASSERT_TRUE(sums.look(*account));
  EXPECT_FALSE(std::ranges::any_of(sums.ended, [&](const ProcessId& id) { return id.pid == pid; })) << before;
}

// 100 children that live for 40 ms of CPU time each, two at a time. Returns what they used in all.
std::int64_t hundred_children(std::vector<pid_t>& pids, const std::function<void()>& between) {
  std::int64_t used = 0;
  for (int pair = 0; pair < 50; ++pair) {
    for (int i = 0; i < 2; ++i) {
      const pid_t pid = fork();
      if (pid == 0) {
        burn_cpu(40'000'000);
        _exit(0);
      }
      pids.push_back(pid);
    }
    for (int i = 0; i < 2; ++i) {
      rusage usage{};
      if (wait4(-1, nullptr, 0, &usage) < 0) return -1;
      const auto ns = [](const timeval& t) { return t.tv_sec * 1'000'000'000 + t.tv_usec * 1'000; };
      used += ns(usage.ru_utime) + ns(usage.ru_stime);
    }
    if (pair % 20 == 10) between();
  }
  return used;
}

TEST_P(RealAccount, AHundredShortChildren) {
  std::vector<pid_t> pids;
  const std::int64_t used = hundred_children(pids, [&] { EXPECT_TRUE(sums.look(*account)); });
  ASSERT_TRUE(sums.look(*account));
  std::int64_t billed = 0;
  for (const pid_t pid : pids) billed += sums.cpu[pid];
  RecordProperty("billed", fmt::format("{} of {} ms", billed / 1'000'000, used / 1'000'000));
  if (GetParam()) {
    expect_within(billed, used, 0.05, "billed to the children");
    for (const pid_t pid : pids) EXPECT_GT(sums.cpu[pid], 30'000'000) << pid;
    EXPECT_EQ(sums.unattributed, 0);
  } else {
    EXPECT_LE(billed, used);
    EXPECT_GE(billed + sums.unattributed, used * 95 / 100) << "what /proc cannot tell by name is told as unattributed";
  }
}

class RealBpf : public testing::Test {
 protected:
  void open(std::uint32_t rows = 65'536) {
    auto opened = open_bpf_account({accounting(), rows});
    if (!opened) GTEST_SKIP() << "skipped: " << opened.error().line();
    account = *std::move(opened);
  }
  std::unique_ptr<CpuAccount> account;
  Sums sums;
};

TEST_F(RealBpf, AgreesWithProcOnASteadyLoad) {
  open();
  if (IsSkipped()) return;
  const auto proc = open_proc_account();
  ASSERT_TRUE(proc);
  Sums by_proc;
  const Burner burner([] { burn_cpu(800'000'000); });
  burner.go();
  for (int look = 0; look < 3; ++look) {
    usleep(200'000);
    ASSERT_TRUE(sums.look(*account) && by_proc.look(**proc));
  }
  burner.wait();
  ASSERT_TRUE(sums.look(*account) && by_proc.look(**proc));
  expect_within(sums.cpu[burner.pid], by_proc.cpu[burner.pid], 0.03, "eBPF against /proc");
  EXPECT_EQ(sums.name[burner.pid], by_proc.name[burner.pid]);
}

// A loop that never gives up its CPU is told at each look, in the middle of its slice.
TEST_F(RealBpf, ASliceUnderWayIsTold) {
  open();
  if (IsSkipped()) return;
  const Burner burner([] { burn_cpu(400'000'000); });
  burner.go();
  std::int64_t before = 0;
  for (int look = 0; look < 3; ++look) {
    burner.pid != 0 ? usleep(80'000) : 0;
    ASSERT_TRUE(sums.look(*account));
    EXPECT_GT(sums.cpu[burner.pid], before);
    before = sums.cpu[burner.pid];
  }
}

TEST_F(RealBpf, AProcessThatMovesHasARowForEachCgroup) {
  open();
  if (IsSkipped()) return;
  const TwoCgroups cgroups;
  if (!cgroups.ready()) GTEST_SKIP() << "skipped: no cgroups can be made here";
  const Burner burner([&] {
    if (!cgroups.put(getpid(), 0)) return;
    burn_cpu(60'000'000);
    if (!cgroups.put(getpid(), 1)) return;
    burn_cpu(180'000'000);
  });
  burner.go();
  burner.wait();
  ASSERT_TRUE(sums.look(*account));
  if (sums.in_cgroup[{burner.pid, cgroups.id(1)}] == 0) GTEST_SKIP() << "skipped: no process can be put into a cgroup here";
  expect_within(sums.in_cgroup[{burner.pid, cgroups.id(0)}], 60'000'000, 0.1, "before");
  expect_within(sums.in_cgroup[{burner.pid, cgroups.id(1)}], 120'000'000, 0.1, "after");
}

TEST_F(RealBpf, ExecAndANewNameAreSeen) {
  open();
  if (IsSkipped()) return;
  const Burner named([] {
    burn_cpu(10'000'000);
    prctl(PR_SET_NAME, "a) R (b)");
    burn_cpu(20'000'000);
  });
  const Burner other([] {
    burn_cpu(10'000'000);
    execl("/bin/sh", "sh", "-c", "i=0; while [ $i -lt 3000 ]; do i=$((i + 1)); done; exec sleep 100", nullptr);
    _exit(1);
  });
  named.go(), other.go();
  named.wait();
  for (int look = 0; look < 200 && sums.name[other.pid] != "sleep"; ++look) {
    usleep(20'000);
    ASSERT_TRUE(sums.look(*account));
  }
  EXPECT_EQ(sums.name[named.pid], "a) R (b)");
  EXPECT_EQ(sums.name[other.pid], "sleep");
}

TEST_F(RealBpf, WhatHasNoRoomIsUnattributed) {
  open(2);
  if (IsSkipped()) return;
  const Burner burner([] { burn_cpu(100'000'000); });
  burner.go();
  const std::int64_t used = burner.wait();
  ASSERT_TRUE(sums.look(*account));
  EXPECT_GE(sums.all + sums.unattributed, used * 97 / 100);
  EXPECT_GT(sums.unattributed, 0);
}

// What somebody without rights is told, and what they get instead.
TEST(RealAccounts, WithoutRightsItIsProcAndSaysWhy) {
  if (getuid() != 0) GTEST_SKIP() << "skipped: needs root to become somebody else";
  if (!open_bpf_account({accounting()})) GTEST_SKIP() << "skipped: eBPF is not there for root either";
  const pid_t pid = fork();
  if (pid == 0) {
    if (setgid(65534) != 0 || setuid(65534) != 0) _exit(2);
    const auto opened = open_cpu_account("", CpuAccountChoice::best);
    const bool right = opened && opened->account->method() == "proc" && opened->instead_of_ebpf &&
                       opened->instead_of_ebpf->code == ErrorCode::permission && opened->instead_of_ebpf->hint.contains("CAP_BPF") &&
                       opened->account->read();
    if (!right && opened && opened->instead_of_ebpf) fmt::print(stderr, "{}\n", opened->instead_of_ebpf->line());
    _exit(right ? 0 : 1);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
}

}  // namespace
}  // namespace joulery
