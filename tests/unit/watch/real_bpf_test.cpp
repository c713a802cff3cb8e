// What only the eBPF program sees. Skips, and says so, where it is not allowed.
#include "tests/unit/watch/real_load.h"
#include "watch/bpf_account.h"
#include "watch/proc_account.h"

namespace joulery {
namespace {

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
  const Burner burner([] { burn_cpu(60'000'000'000); });  // until the end of the test
  burner.go();
  std::int64_t before = 0;
  for (int told = 0; told < 3; ++told) {
    for (int look = 0; look < 200 && sums.cpu[burner.pid] == before; ++look) {
      usleep(20'000);
      ASSERT_TRUE(sums.look(*account));
    }
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
    usleep(1000);  // a slice under way goes with the process
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

// Whichever hierarchy accounts CPU time on other machines: each loads here, and v2 names cgroups where it is mounted at all.
TEST_F(RealBpf, EveryHierarchyLoads) {
  open();
  if (IsSkipped()) return;
  for (const CpuController controller : {CpuController::unified, CpuController::cpuacct, CpuController::cpu}) {
    const auto opened = open_bpf_account({controller});
    ASSERT_TRUE(opened) << opened.error().line();
    ASSERT_TRUE((*opened)->read());
  }
}

TEST_F(RealBpf, TheUnifiedHierarchyNamesCgroups) {
  auto opened = open_bpf_account({CpuController::unified});
  if (!opened) GTEST_SKIP() << "skipped: " << opened.error().line();
  const std::string mount = unified_mount();
  const std::string name = fmt::format("/joulery-test-{}-v2", getpid()), folder = mount + name;
  if (mount.empty() || mkdir(folder.c_str(), 0755) != 0) GTEST_SKIP() << "skipped: no cgroups of v2 can be made here";
  struct stat info{};
  stat(folder.c_str(), &info);
  bool moved = false;
  {
    const Burner burner([] { burn_cpu(30'000'000); });
    moved = static_cast<bool>(std::ofstream(folder + "/cgroup.procs") << burner.pid << std::flush);
    burner.go();
    const std::int64_t used = burner.wait();
    ASSERT_TRUE(sums.look(**opened));
    if (moved) expect_within(sums.in_cgroup[{burner.pid, info.st_ino}], used, 0.1, "in the cgroup");
  }
  for (int i = 0; i < 100 && rmdir(folder.c_str()) != 0; ++i) usleep(10'000);
  EXPECT_EQ(sums.cgroups[info.st_ino].substr(sums.cgroups[info.st_ino].rfind('/')), name);
  if (!moved) GTEST_SKIP() << "skipped: no process can be put into a cgroup of v2 here";
}

// The cgroup is gone before the look.
TEST_F(RealBpf, ACgroupThatComesAndGoesIsNamed) {
  open();
  if (IsSkipped()) return;
  std::uint64_t id = 0;
  {
    const TwoCgroups cgroups;
    if (!cgroups.ready()) GTEST_SKIP() << "skipped: no cgroups can be made here";
    id = cgroups.id(0);
  }
  ASSERT_TRUE(sums.look(*account));
  EXPECT_TRUE(sums.cgroups[id].ends_with(fmt::format("/joulery-test-{}-a", getpid()))) << sums.cgroups[id];
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

}  // namespace
}  // namespace joulery
