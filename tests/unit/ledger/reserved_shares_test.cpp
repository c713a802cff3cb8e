#include "ledger/attribution/reserved_shares.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>

#include "tests/unit/watch/machine_tree.h"
#include "watch/cgroup_path.h"

namespace joulery {
namespace {

using namespace std::string_literals;

// Eight CPUs and 16 GiB; cgroups with a quota, each with one process: 10, 11 ...
class ReservedTree : public MachineTree {
 public:
  ReservedTree() { write("proc/meminfo", "MemTotal: 16777216 kB\n"); }
  void reserved(int pid, const std::string& path, double cpus, const std::string& memory = "max") const {
    write("sys/fs/cgroup" + path + "/cpu.max", std::to_string(static_cast<int>(cpus * 100'000)) + " 100000\n");
    write("sys/fs/cgroup" + path + "/memory.max", memory + "\n");
    write("sys/fs/cgroup" + path + "/cgroup.procs", std::to_string(pid) + "\n");
    put({pid, pid * 10, 0, "work", 1, 0, "0::" + path + "\n"});
  }
};

ComponentReading reading(const std::string& component, double burnt, double idle) {
  return {Component(component), "rapl", Quality::measured, joules(burnt), "", joules(idle), false};
}

ProcessTick in(int pid, const std::string& path, double cpu, std::int64_t memory = 0) {
  ProcessTick tick{{pid, pid * 10}, "work", workload_of_cgroup(path), {}, false};
  tick.use.cpu = seconds(cpu);
  tick.use.memory = memory;
  tick.workload.cgroup = path;
  return tick;
}

NodeTick tick_of(double begin, std::vector<ComponentReading> components, std::vector<ProcessTick> processes) {
  return {{MonoTime{} + seconds(begin), MonoTime{} + seconds(begin + 1)}, std::move(components), std::move(processes), {}, "ebpf"};
}

Energy booked(const NodeAccount& account, ConsumerKind kind, const std::string& name, std::size_t component = 0) {
  for (const ConsumerAccount& consumer : account.consumers)
    if (consumer.kind == kind && consumer.name == name) return consumer.energy[component];
  return microjoules(-1);
}

// By hand: 80 J static of 8 CPUs. /a has 2 (20 J), of which its processes get 15 and 5 by their CPU time; /b sleeps and has 4 (40 J);
// 20 J are nobody's. The 40 J that were used go by CPU time, also to /c, which reserved nothing.
TEST(ReservedShares, StaticEnergyGoesToThoseItIsKeptReadyFor) {
  const ReservedTree tree;
  tree.reserved(10, "/a", 2);
  tree.reserved(20, "/b", 4);
  Reservations reservations(tree.root(), 8);
  NodeTick tick = tick_of(1, {reading("node/cpu/package-0", 120, 80)}, {in(10, "/a", 0.75), in(11, "/a", 0.25), in(30, "/c", 1)});
  add_reservations(reservations, tick);
  NodeAccounts accounts(MonoTime{}, IdlePolicy::reserved, seconds(60));
  accounts.add(tick);
  const NodeAccount account = accounts.account();
  EXPECT_EQ(booked(account, ConsumerKind::process, "work[10]"), joules(15 + 15));
  EXPECT_EQ(booked(account, ConsumerKind::process, "work[11]"), joules(5 + 5));
  EXPECT_EQ(booked(account, ConsumerKind::process, "(reserved)"), joules(40));
  EXPECT_EQ(booked(account, ConsumerKind::cgroup, "/b"), joules(40));
  EXPECT_EQ(booked(account, ConsumerKind::cgroup, "/c"), joules(20));
  EXPECT_EQ(booked(account, ConsumerKind::idle, ""), joules(20));
  EXPECT_EQ(account.violations, 0);
}

TEST(ReservedShares, MemoryGoesByItsLimitAndByWhatIsHeld) {
  const ReservedTree tree;
  tree.reserved(10, "/a", 1, "4294967296");
  Reservations reservations(tree.root(), 8);
  NodeTick tick = tick_of(1, {reading("node/dram/package-0", 16, 16)}, {in(10, "/a", 1, 3 << 20), in(11, "/a", 3, 1 << 20)});
  add_reservations(reservations, tick);
  EXPECT_DOUBLE_EQ(tick.processes[0].use.reserved_memory, 0.1875);  // three quarters of 4 of 16 GiB
  EXPECT_DOUBLE_EQ(tick.processes[1].use.reserved_memory, 0.0625);
  EXPECT_DOUBLE_EQ(tick.processes[1].use.reserved_cpu, 0.09375);
}

TEST(ReservedShares, AnAcceleratorIsOfItsJobElseOfWhoHoldsIt) {
  const ReservedTree tree;
  tree.put({10, 100, 0, "python", 1, 0, "0::/slurmd\n"});
  tree.write("proc/10/environ", "SLURM_JOB_ID=7\0SLURM_JOB_GPUS=1"s);
  Reservations reservations(tree.root(), 8);
  std::vector<ProcessTick> processes = {in(10, "/slurmd", 0), in(11, "/x", 1), in(12, "/x", 1)};
  processes[1].use.accelerators = {{0, 3.0}, {1, 1.0}};
  processes[2].use.accelerators = {{0, 1.0}};
  NodeTick tick = tick_of(1, {reading("node/gpu/0", 60, 60), reading("node/gpu/1", 60, 60), reading("node/gpu/2", 60, 60)}, processes);
  add_reservations(reservations, tick);
  NodeAccounts accounts(MonoTime{}, IdlePolicy::reserved, seconds(60));
  accounts.add(tick);
  const NodeAccount account = accounts.account();
  EXPECT_EQ(booked(account, ConsumerKind::process, "work[11]", 0), joules(45));
  EXPECT_EQ(booked(account, ConsumerKind::process, "work[12]", 0), joules(15));
  EXPECT_EQ(booked(account, ConsumerKind::job, "7", 1), joules(60));
  EXPECT_EQ(booked(account, ConsumerKind::idle, "", 2), joules(60));
  EXPECT_EQ(account.violations, 0);
}

// However much is promised, to whoever ran or slept: every kind sums to the node, to the microjoule.
RC_GTEST_PROP(ReservedShares, PartsSumToTheNode, ()) {
  const ReservedTree tree;
  const int cgroups = *rc::gen::inRange(0, 5);
  std::vector<std::string> paths = {"/free"};
  for (int i = 0; i < cgroups; ++i) {
    paths.push_back(*rc::gen::elementOf(paths) + "/g" + std::to_string(i));
    tree.reserved(100 + i, paths.back(), *rc::gen::inRange(1, 120) / 10.0, std::to_string(*rc::gen::inRange(1, 1 << 30)) + "00");
  }
  Reservations reservations(tree.root(), 8);
  NodeAccounts accounts(MonoTime{}, IdlePolicy::reserved, seconds(60));
  Energy burnt;
  for (int t = 0; t < 3; ++t) {
    std::vector<ProcessTick> processes;
    for (int p = *rc::gen::inRange(0, 6); p > 0; --p) {
      processes.push_back(in(10 + p, *rc::gen::elementOf(paths), *rc::gen::inRange(0, 50) / 10.0, *rc::gen::inRange(0, 1 << 30)));
      if (*rc::gen::inRange(0, 3) == 0) processes.back().use.accelerators = {{2, *rc::gen::inRange(0, 9) / 3.0}};
    }
    std::vector<ComponentReading> components;
    for (const char* path : {"node/cpu/package-0", "node/dram/package-0", "node/gpu/0"}) {
      const int energy = *rc::gen::inRange(0, 1'000'000'000);
      components.push_back(reading(path, energy * 1e-6, *rc::gen::inRange(0, 1'000'000'000) * 1e-6));
      burnt += *components.back().energy;
    }
    NodeTick tick = tick_of(t * 20, components, processes);
    add_reservations(reservations, tick);
    accounts.add(tick);
  }
  const NodeAccount account = accounts.account();
  RC_ASSERT(account.violations == 0);
  for (const ConsumerKind kind : {ConsumerKind::process, ConsumerKind::cgroup, ConsumerKind::pod, ConsumerKind::user}) {
    Energy sum;
    for (const ConsumerAccount& consumer : account.consumers)
      if (consumer.kind == kind || consumer.kind == ConsumerKind::idle || consumer.kind == ConsumerKind::unattributed)
        sum = std::accumulate(consumer.energy.begin(), consumer.energy.end(), sum);
    RC_ASSERT(sum == burnt);
  }
}

}  // namespace
}  // namespace joulery
