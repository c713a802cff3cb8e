#include "sense/host/proc_files.h"

#include <gtest/gtest.h>

#include "sense/host/cpu.h"
#include "tests/unit/sense/tree.h"

namespace joulery {
namespace {

using namespace joulery::testing;

TEST(ProcStat, BusyIsAllButIdleWaitingAndStolen) {
  const auto times = parse_system_stat("cpu  100 20 30 4000 50 6 7 8 99 0\ncpu0 1 2 3 4\n");
  ASSERT_TRUE(times);
  EXPECT_EQ(times->busy, 100 + 20 + 30 + 6 + 7);  // a guest's 99 lie within user's 100
  EXPECT_EQ(times->total, 163 + 4000 + 50 + 8);
}

TEST(ProcStat, OldKernelsHaveFewerColumns) {
  const auto times = parse_system_stat("cpu 1 2 3 4\n");
  ASSERT_TRUE(times);
  EXPECT_EQ(times->busy, 6);
  EXPECT_EQ(times->total, 10);
}

TEST(ProcStat, WhatIsNoSuchFileIsNothing) {
  for (const char* bad :
       {"", "cpu", "cpu0 1 2 3 4\n", "cpu 1 2 3\n", "cpu a 2 3 4\n", "cpu 1 2 3 -4\n", "cpu 1 2 3 99999999999999999999\n", "intr 1\n"})
    EXPECT_FALSE(parse_system_stat(bad)) << bad;
}

TEST(MemInfo, UsedIsWhatIsNotAvailable) {
  const auto use = parse_meminfo("MemTotal:       1000 kB\nMemFree:  100 kB\nMemAvailable:    400 kB\nBuffers: 1 kB\nCached: 1 kB\n");
  ASSERT_TRUE(use);
  EXPECT_EQ(use->total, 1'024'000);
  EXPECT_EQ(use->used, 600 * 1024);
}

TEST(MemInfo, BeforeMemAvailableTheCachesCountAsFree) {
  const auto use = parse_meminfo("MemTotal: 1000 kB\nMemFree: 100 kB\nBuffers: 50 kB\nCached: 250 kB\n");
  ASSERT_TRUE(use && use->used);
  EXPECT_EQ(*use->used, 600 * 1024);
}

TEST(MemInfo, WhatIsNotToldIsAbsent) {
  EXPECT_FALSE(parse_meminfo("MemFree: 1 kB\n"));
  EXPECT_FALSE(parse_meminfo("MemTotal: many kB\n"));
  EXPECT_FALSE(parse_meminfo("MemTotal: 1000 kB\n")->used);
  EXPECT_FALSE(parse_meminfo("MemTotal: 1000 kB\nMemAvailable: 2000 kB\n")->used);
}

TEST(Cpu, ReportsBusyAndTotalTicks) {
  Tree tree;
  tree.file("/proc/stat", "cpu  1 2 3 4 5 6 7 8 0 0\nintr 5\n");
  Discovery found = probe_cpu(tree.machine());
  ASSERT_EQ(found.devices.size(), 1u);
  Meter& meter = *found.devices[0].meter;
  EXPECT_EQ(read_channel(meter, "busy").raw, 19);
  EXPECT_EQ(read_channel(meter, "total").raw, 36);
  EXPECT_EQ(channel_named(meter, "busy")->component.path(), "node/cpu");
  EXPECT_EQ(channel_named(meter, "busy")->measurand, Measurand::busy_time);
  EXPECT_DOUBLE_EQ(channel_named(meter, "busy")->unit, 1.0 / static_cast<double>(::sysconf(_SC_CLK_TCK)));
  tree.file("/proc/stat", "rubbish\n");
  EXPECT_EQ(read_channel(meter, "busy").reason, MissingReason::rubbish);
  EXPECT_EQ(read_channel(meter, "total").reason, MissingReason::rubbish);
}

TEST(Memory, ReportsBytes) {
  Tree tree;
  tree.file("/proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 400 kB\n");
  Discovery found = probe_memory(tree.machine());
  ASSERT_EQ(found.devices.size(), 1u);
  EXPECT_EQ(read_channel(*found.devices[0].meter, "used").raw, 614'400);
  EXPECT_EQ(read_channel(*found.devices[0].meter, "total").raw, 1'024'000);
  EXPECT_EQ(channel_named(*found.devices[0].meter, "total")->behaviour, Behaviour::constant);
}

TEST(Cpu, ATreeWithoutTheFileHasAFinding) {
  Tree tree;
  const Discovery found = probe_cpu(tree.machine());
  EXPECT_TRUE(found.devices.empty());
  ASSERT_EQ(found.findings.size(), 1u);
  EXPECT_TRUE(found.findings[0].reason.contains(tree.root() + "/proc/stat"));
}

TEST(Cpu, ThisMachineCounts) {
  Discovery cpu = probe_cpu(Machine()), memory = probe_memory(Machine());
  ASSERT_EQ(cpu.devices.size(), 1u);
  ASSERT_EQ(memory.devices.size(), 1u);
  EXPECT_GT(read_channel(*cpu.devices[0].meter, "total").raw, read_channel(*cpu.devices[0].meter, "busy").raw);
  EXPECT_GT(read_channel(*memory.devices[0].meter, "used").raw, 0);
}

}  // namespace
}  // namespace joulery
