#include "watch/proc_account.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "tests/unit/watch/machine_tree.h"
#include "watch/proc_folder.h"

namespace joulery {
namespace {

CpuUses read(CpuAccount& account) {
  auto uses = account.read();
  EXPECT_TRUE(uses) << uses.error().line();
  return uses ? *uses : CpuUses{};
}

TEST(ProcAccount, TellsWhatWasUsedSinceTheLastLook) {
  const MachineTree tree;
  const std::uint64_t web = tree.cgroup("/web.slice/nginx.service");
  tree.put({10, 100, 5'000'000});
  tree.put({11, 100, 7'000'000, "idle"});
  const auto account = open_proc_account(tree.root());
  ASSERT_TRUE(account);
  EXPECT_EQ((*account)->method(), "proc");
  tree.put({10, 100, 9'000'000, "a) R (b", 7, 1000, "0::/web.slice/nginx.service\n"});
  const CpuUses uses = read(**account);
  ASSERT_EQ(uses.processes.size(), 1U);
  const CpuUse& use = uses.processes[0];
  EXPECT_EQ(use.id, (ProcessId{10, 100}));
  EXPECT_EQ(use.name, "a) R (b");
  EXPECT_EQ(use.parent, 7);
  EXPECT_EQ(use.user, 1000U);
  EXPECT_EQ(use.cgroup, web);
  EXPECT_EQ(use.cpu, nanoseconds(4'000'000));
  EXPECT_TRUE(read(**account).processes.empty());
}

TEST(ProcAccount, Case23TheNameOfALineWithBrackets) {
  const MachineTree tree;
  const auto account = open_proc_account(tree.root());
  ASSERT_TRUE(account);
  tree.put({42, 200, 1'000, "a) R (b)"});
  const CpuUses uses = read(**account);
  ASSERT_EQ(uses.processes.size(), 1U);
  EXPECT_EQ(uses.processes[0].name, "a) R (b)");
  EXPECT_EQ(uses.processes[0].id, (ProcessId{42, 200}));
}

TEST(ProcAccount, Case23GoneBetweenListAndLook) {
  const MachineTree tree;
  const auto account = open_proc_account(tree.root());
  ASSERT_TRUE(account);
  tree.put({43, 300, 2'000});
  fs::create_directories(tree.root() + "/proc/42");  // listed, but nothing of it can be read any more
  const CpuUses uses = read(**account);
  EXPECT_EQ(uses.vanished, 1);
  ASSERT_EQ(uses.processes.size(), 1U);
  EXPECT_EQ(uses.processes[0].cpu, nanoseconds(2'000));
}

TEST(ProcAccount, APidThatIsUsedAgainIsAnotherProcess) {
  const MachineTree tree;
  tree.put({10, 100, 5'000'000, "old"});
  const auto account = open_proc_account(tree.root());
  ASSERT_TRUE(account);
  tree.put({10, 900, 6'000'000, "new"});  // more than the old one ever had
  const CpuUses uses = read(**account);
  ASSERT_EQ(uses.processes.size(), 2U);
  EXPECT_EQ(uses.processes[0].id, (ProcessId{10, 100}));
  EXPECT_TRUE(uses.processes[0].ended);
  EXPECT_EQ(uses.processes[0].cpu, Duration{});
  EXPECT_EQ(uses.processes[1].id, (ProcessId{10, 900}));
  EXPECT_FALSE(uses.processes[1].ended);
  EXPECT_EQ(uses.processes[1].name, "new");
  EXPECT_EQ(uses.processes[1].cpu, nanoseconds(6'000'000));
}

TEST(ProcAccount, WhatTheEndedTookIsUnattributed) {
  const MachineTree tree;
  tree.busy(1000);
  tree.put({10, 100, 0});
  const auto account = open_proc_account(tree.root());
  ASSERT_TRUE(account);
  tree.busy(1050);  // 500 ms in all, of which the grain of a tick on each of 2 CPUs may be too much
  tree.put({10, 100, 100'000'000});
  const CpuUses first = read(**account);
  EXPECT_EQ(first.unattributed, milliseconds(500 - 20 - 100));
  tree.end(10);
  tree.busy(1050);
  const CpuUses second = read(**account);
  ASSERT_EQ(second.processes.size(), 1U);
  EXPECT_EQ(second.processes[0].id, (ProcessId{10, 100}));
  EXPECT_TRUE(second.processes[0].ended);
  EXPECT_EQ(second.processes[0].cpu, Duration{});
  EXPECT_EQ(second.unattributed, Duration{});
}

TEST(ProcAccount, TheAccountOfTheWholeMachineOfV1IsExact) {
  const MachineTree tree;
  tree.mounts("35 30 0:31 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct\n");
  tree.write("sys/fs/cgroup/cpuacct/cpuacct.usage", "1000000\n");
  const auto account = open_proc_account(tree.root());
  ASSERT_TRUE(account);
  tree.write("sys/fs/cgroup/cpuacct/cpuacct.usage", "1000777\n");
  EXPECT_EQ(read(**account).unattributed, nanoseconds(777));
}

TEST(ProcAccount, TicksCountWhereThreadsSayLess) {
  const MachineTree tree;
  const auto account = open_proc_account(tree.root());
  ASSERT_TRUE(account);
  tree.put({10, 100, 5'000'000, "work", 1, 0, "0::/\n", 3});  // 30 ms, with threads that have ended
  const CpuUses uses = read(**account);
  ASSERT_EQ(uses.processes.size(), 1U);
  EXPECT_EQ(uses.processes[0].cpu, milliseconds(30));
}

// 20 ms looks, a clock of 10 ms: what is told is whole ticks, none lost, and never more than was there.
TEST(ProcAccount, Case25TicksAddUp) {
  const MachineTree tree;
  tree.put({10, 100, 0});
  const auto account = open_proc_account(tree.root());
  ASSERT_TRUE(account);
  Duration sum;
  long ticks = 0;
  for (const long more : {1, 3, 2}) {
    tree.put({10, 100, 0, "work", 1, 0, "0::/\n", ticks += more});
    const CpuUses uses = read(**account);
    ASSERT_EQ(uses.processes.size(), 1U);
    EXPECT_EQ(uses.processes[0].cpu, milliseconds(10 * more));
    sum += uses.processes[0].cpu;
  }
  EXPECT_EQ(sum, milliseconds(60));
}

TEST(ProcAccount, NoProcIsAnErrorWithARemedy) {
  const Folder empty;
  const auto account = open_proc_account((empty / "").string());
  ASSERT_FALSE(account);
  EXPECT_EQ(account.error().code, ErrorCode::io);
  EXPECT_FALSE(account.error().hint.empty());
}

TEST(ProcFolder, TheRealUserOfAStatus) {
  EXPECT_EQ(user_of_status("Name:\tUid:\nUmask:\t0022\nUid:\t1000\t0\t0\t0\n"), 1000U);
  EXPECT_EQ(user_of_status("Name:\tx\nUid:\t4294967295\t"), 4294967295U);
  for (const char* text : {"", "Uid:\t1", "\nUid:\t", "\nUid:\tx", "\nUid:\t99999999999"}) EXPECT_FALSE(user_of_status(text)) << text;
}

// Random lives of processes on one machine: whatever comes, goes and takes another's pid, nothing is told twice and nothing
// falls below zero, and all that was told is what was used, or less.
RC_GTEST_PROP(ProcAccountProperty, NeverMoreThanWasUsed, ()) {
  const MachineTree tree;
  std::map<int, MachineTree::Process> alive;
  std::int64_t used = 0;
  long births = 100;
  const auto account = open_proc_account(tree.root());
  RC_ASSERT(account.has_value());
  std::map<ProcessId, std::int64_t> truth, told;
  Duration all;
  for (int look = 0; look < 4; ++look) {
    for (int event = *rc::gen::inRange(0, 5); event > 0; --event) {
      const int pid = *rc::gen::inRange(10, 14);
      if (alive.contains(pid) && *rc::gen::inRange(0, 3) == 0) alive.erase(pid), tree.end(pid);
      if (!alive.contains(pid)) alive[pid] = {pid, births += 1, 0};
      const auto more = *rc::gen::inRange<std::int64_t>(0, 30'000'000);
      alive[pid].ns += more;
      used += more;
      truth[{pid, alive[pid].start}] += more;
      tree.put(alive[pid]);
    }
    tree.busy(used / 10'000'000);
    const auto uses = (*account)->read();
    RC_ASSERT(uses.has_value());
    RC_ASSERT(uses->unattributed >= Duration{});
    all += uses->unattributed;
    for (const CpuUse& use : uses->processes) {
      RC_ASSERT(use.cpu > Duration{} || (use.ended && use.cpu == Duration{}));
      told[use.id] += use.cpu.base_units();
      all += use.cpu;
    }
    for (const auto& [id, ns] : told) RC_ASSERT(ns <= truth[id]);
    for (const auto& [pid, process] : alive) RC_ASSERT(told[(ProcessId{pid, process.start})] == process.ns);
    RC_ASSERT(all.base_units() <= used);
  }
}

}  // namespace
}  // namespace joulery
