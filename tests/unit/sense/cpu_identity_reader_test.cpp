#include "sense/host/cpu_identity_reader.h"

#include <gtest/gtest.h>

#include "tests/unit/sense/tree.h"

namespace joulery {
namespace {

using namespace joulery::testing;

std::string processor(int number, int socket, int core) {
  return "processor\t: " + std::to_string(number) + "\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 106\n" +
         "model name\t: Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz\nstepping\t: 6\nphysical id\t: " + std::to_string(socket) +
         "\ncore id\t\t: " + std::to_string(core) + "\nflags\t\t: fpu vme sse\n\n";
}

TEST(CpuIdentity, CountsSocketsCoresAndThreads) {
  Tree tree;
  std::string text;
  for (int i = 0; i < 8; ++i) text += processor(i, i % 2, i / 2 % 2);  // 2 sockets of 2 cores of 2 threads
  tree.file("/proc/cpuinfo", text).file("/proc/meminfo", "MemTotal: 268435456 kB\n");
  const CpuIdentity cpu = read_cpu_identity(tree.machine());
  EXPECT_EQ(cpu.model_name, "Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz");
  EXPECT_EQ(cpu.vendor, "GenuineIntel");
  EXPECT_EQ(cpu.family, 6);
  EXPECT_EQ(cpu.model, 106);
  EXPECT_EQ(cpu.stepping, 6);
  EXPECT_EQ(cpu.sockets, 2);
  EXPECT_EQ(cpu.cores, 4);
  EXPECT_EQ(cpu.threads, 8);
  EXPECT_DOUBLE_EQ(cpu.memory_gb, 256.0);
  EXPECT_FALSE(cpu.virtual_machine);
  EXPECT_FALSE(cpu.memory_limit_gb);
}

TEST(CpuIdentity, ArmTellsItsTopologyInSysfs) {
  Tree tree;
  tree.file("/proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n\nprocessor\t: 1\nCPU implementer\t: 0x41\n\n");
  for (int i = 0; i < 2; ++i) {
    const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(i) + "/topology/";
    tree.file(folder + "physical_package_id", "0\n").file(folder + "core_id", std::to_string(i) + "\n");
  }
  tree.file("/sys/devices/system/cpu/cpufreq/x", "");
  const CpuIdentity cpu = read_cpu_identity(tree.machine());
  EXPECT_EQ(cpu.vendor, "ARM");
  EXPECT_EQ(cpu.sockets, 1);
  EXPECT_EQ(cpu.cores, 2);
  EXPECT_EQ(cpu.threads, 2);
}

TEST(CpuIdentity, WhatIsNotToldStaysUnknown) {
  Tree tree;
  const CpuIdentity cpu = read_cpu_identity(tree.machine());
  EXPECT_EQ(cpu.model_name, "");
  EXPECT_EQ(cpu.sockets, 0);
  EXPECT_EQ(cpu.threads, 0);
  EXPECT_EQ(cpu.memory_gb, 0);
}

TEST(CpuIdentity, VirtualMachinesAreSeenByTheProcessorsFlagAndNamedByTheFirmware) {
  Tree kvm, metal, arm;
  kvm.file("/proc/cpuinfo", "flags\t: fpu hypervisor lahf_lm\n").file("/sys/class/dmi/id/sys_vendor", "VMware, Inc.\n");
  metal.file("/proc/cpuinfo", "flags\t: fpu lahf_lm\n").file("/sys/class/dmi/id/sys_vendor", "Amazon EC2\n");  // a metal instance
  arm.file("/proc/cpuinfo", "processor\t: 0\n").file("/sys/class/dmi/id/sys_vendor", "QEMU\n");
  EXPECT_TRUE(read_cpu_identity(kvm.machine()).virtual_machine);
  EXPECT_EQ(read_cpu_identity(kvm.machine()).hypervisor, "VMware");
  EXPECT_FALSE(read_cpu_identity(metal.machine()).virtual_machine);
  EXPECT_EQ(read_cpu_identity(metal.machine()).hypervisor, "");
  EXPECT_TRUE(read_cpu_identity(arm.machine()).virtual_machine);
}

class MemoryLimit : public ::testing::Test {
 protected:
  MemoryLimit() { tree.file("/proc/meminfo", "MemTotal: 1073741824 kB\n"); }  // 1 TiB
  Tree tree;
};

TEST_F(MemoryLimit, Case26AContainersLimitOfVersion2) {
  tree.file("/sys/fs/cgroup/memory.max", "107374182400\n");  // 100 GiB
  const CpuIdentity cpu = read_cpu_identity(tree.machine());
  EXPECT_DOUBLE_EQ(cpu.memory_gb, 1024.0);
  ASSERT_TRUE(cpu.memory_limit_gb);
  EXPECT_DOUBLE_EQ(*cpu.memory_limit_gb, 100.0);
}

TEST_F(MemoryLimit, Case26AContainersLimitOfVersion1) {
  tree.file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "107374182400\n");
  EXPECT_DOUBLE_EQ(read_cpu_identity(tree.machine()).memory_limit_gb.value(), 100.0);
}

TEST_F(MemoryLimit, TheSmallestLimitOnTheWayUpCounts) {
  tree.file("/proc/self/cgroup", "0::/kubepods/pod1/c\n").file("/sys/fs/cgroup/kubepods/memory.max", "max\n");
  tree.file("/sys/fs/cgroup/kubepods/pod1/memory.max", "2147483648\n").file("/sys/fs/cgroup/kubepods/pod1/c/memory.max", "4294967296\n");
  EXPECT_DOUBLE_EQ(read_cpu_identity(tree.machine()).memory_limit_gb.value(), 2.0);
}

TEST_F(MemoryLimit, OfVersion1TheMemoryControllersGroupCounts) {
  tree.file("/proc/self/cgroup", "5:cpu:/other\n4:memory:/a/b\n0::/\n")
      .file("/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "1073741824\n");
  tree.file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_DOUBLE_EQ(read_cpu_identity(tree.machine()).memory_limit_gb.value(), 1.0);
}

TEST_F(MemoryLimit, NoLimitIsNoLimit) {
  tree.file("/sys/fs/cgroup/memory.max", "max\n").file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_FALSE(read_cpu_identity(tree.machine()).memory_limit_gb);
}

}  // namespace
}  // namespace joulery
