#include "watch/reservations.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fstream>

#include "tests/unit/watch/machine_tree.h"
#include "tests/unit/watch/real_load.h"
#include "watch/cgroup_path.h"

namespace joulery {
namespace {

using namespace std::string_literals;

const std::string C = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const std::string D = "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210";

// Eight CPUs, 16 GiB.
class Tree : public MachineTree {
 public:
  Tree() { write("proc/meminfo", "MemTotal:       16777216 kB\nMemFree: 1 kB\n"); }
  void in(const std::string& path, const std::vector<std::pair<std::string, std::string>>& files, const std::string& mount = "") const {
    write("sys/fs/cgroup" + mount + path + "/cgroup.procs", "");
    for (const auto& [name, text] : files) write("sys/fs/cgroup" + mount + path + "/" + name, text + "\n");
  }
  // A process in the same cgroup of all hierarchies.
  void runs(int pid, const std::string& path, const std::vector<std::string>& mounts = {""}) const {
    std::string lines = "0::" + path + "\n";
    if (mounts != std::vector<std::string>{""}) lines = "7:cpuset:" + path + "\n6:memory:" + path + "\n4:cpu,cpuacct:" + path + "\n0::/\n";
    put({pid, 100, 0, "work", 1, 0, lines});
    for (const std::string& mount : mounts) write("sys/fs/cgroup" + mount + path + "/cgroup.procs", std::to_string(pid) + "\n");
  }
};

const std::vector<std::string> v1_mounts = {"/cpu,cpuacct", "/cpuset", "/memory"};
constexpr const char* v1_table =
    "35 30 0:31 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "36 30 0:32 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
    "37 30 0:33 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";

Workload at(const std::string& path, const std::string& user = "ada") {
  Workload workload = workload_of_cgroup(path);
  workload.cgroup = path;
  workload.user = user;
  return workload;
}

class Looked {
 public:
  explicit Looked(const Tree& tree) : reservations(tree.root(), 8) { reservations.look(MonoTime{1}); }
  const Allocation* named(const std::string& name) const {
    for (const Allocation& one : reservations.all())
      if (one.name == name) return &one;
    return nullptr;
  }
  double cpus(const std::string& name) const { return named(name) ? named(name)->share[0] * 8 : -1; }
  double gib(const std::string& name) const { return named(name) ? named(name)->share[1] * 16 : -1; }
  std::string cpu_of(int pid, const std::string& path) {
    const auto place = reservations.place_of({pid, 100}, at(path), false);
    return place.of[0] ? reservations.all()[*place.of[0]].name : "";
  }
  Reservations reservations;
};

TEST(Reservations, QuotaCpusetAndMemoryOnV2) {
  const Tree tree;
  tree.in("", {{"cpuset.cpus.effective", "0-7"}});
  tree.in("/a", {{"cpu.max", "200000 100000"}, {"memory.max", "4294967296"}, {"memory.min", "8589934592"}});
  tree.in("/b", {{"cpu.max", "max 100000"}, {"cpuset.cpus", "4-6"}, {"cpuset.cpus.effective", "4-6"}, {"memory.max", "max"}});
  tree.in("/both", {{"cpu.max", "150000 100000"}, {"cpuset.cpus", "0-3"}, {"cpuset.cpus.effective", "0-3"}});
  tree.in("/all", {{"cpuset.cpus", "0-7"}, {"cpuset.cpus.effective", "0-7"}, {"memory.low", "1073741824"}});
  tree.in("/empty", {{"cpu.max", "800000 100000"}});
  for (int pid = 10; const std::string path : {"/a", "/b", "/both", "/all"}) tree.runs(pid++, path);
  tree.runs(20, "/a/deeper/still");
  tree.runs(21, "/ab");
  Looked looked(tree);
  EXPECT_NEAR(looked.cpus("/a"), 2, 1e-9);
  EXPECT_NEAR(looked.gib("/a"), 4, 1e-9);
  EXPECT_NEAR(looked.cpus("/b"), 3, 1e-9);
  EXPECT_EQ(looked.named("/b")->share[1], 0);
  EXPECT_NEAR(looked.cpus("/both"), 1.5, 1e-9);
  EXPECT_EQ(looked.named("/all"), nullptr);
  EXPECT_EQ(looked.named("/empty"), nullptr);  // nobody is in it
  EXPECT_EQ(looked.cpu_of(20, "/a/deeper/still"), "/a");
  EXPECT_EQ(looked.cpu_of(21, "/ab"), "");
}

TEST(Reservations, InsideIsPartOfOutsideAndNeverMore) {
  const Tree tree;
  tree.in("/out", {{"cpu.max", "400000 100000"}});
  tree.in("/out/one", {{"cpu.max", "100000 100000"}});
  tree.in("/out/two", {{"cpu.max", "200000 100000"}});
  tree.in("/tight", {{"cpu.max", "300000 100000"}});
  tree.in("/tight/one", {{"cpu.max", "300000 100000"}});
  tree.in("/tight/two", {{"cpu.max", "600000 100000"}});
  for (int pid = 10; const std::string path : {"/out/one", "/out/two", "/tight/one", "/tight/two"}) tree.runs(pid++, path);
  const Looked looked(tree);
  EXPECT_NEAR(looked.cpus("/out"), 1, 1e-9);
  EXPECT_NEAR(looked.cpus("/out/two"), 2, 1e-9);
  EXPECT_NEAR(looked.cpus("/tight"), 0, 1e-9);
  EXPECT_NEAR(looked.cpus("/tight/one"), 1.5, 1e-9);  // neither can have more than the 3 around them
  EXPECT_NEAR(looked.cpus("/tight/two"), 1.5, 1e-9);
}

TEST(Reservations, OnV1) {
  const Tree tree;
  tree.mounts(v1_table);
  tree.in("", {{"cpuset.cpus", "0-7"}}, "/cpuset");
  tree.in("", {{"memory.limit_in_bytes", "9223372036854771712"}}, "/memory");
  const std::string docker = "/docker/" + C;
  tree.in(docker, {{"cpu.cfs_quota_us", "250000"}, {"cpu.cfs_period_us", "50000"}}, "/cpu,cpuacct");
  tree.in("/docker", {{"cpuset.cpus", "0-7"}}, "/cpuset");
  tree.in(docker, {{"cpuset.cpus", "0-7"}}, "/cpuset");
  tree.in(docker, {{"memory.limit_in_bytes", "8589934592"}}, "/memory");
  tree.in("/free", {{"cpu.cfs_quota_us", "-1"}, {"cpu.cfs_period_us", "100000"}}, "/cpu,cpuacct");
  tree.in("/free", {{"memory.limit_in_bytes", "9223372036854771712"}}, "/memory");
  tree.runs(10, docker, v1_mounts);
  tree.runs(11, "/free", v1_mounts);
  Looked looked(tree);
  EXPECT_NEAR(looked.cpus(docker), 5, 1e-9);
  EXPECT_NEAR(looked.gib(docker), 8, 1e-9);
  EXPECT_EQ(looked.named(docker)->workload.container, C);
  EXPECT_EQ(looked.named("/free"), nullptr);
  EXPECT_EQ(looked.cpu_of(10, docker), docker);
}

// Slurm holds a job by a cpuset, in a hierarchy that says nothing of CPU time; its steps are in the job.
TEST(Reservations, ASlurmJobOnAHybridMachine) {
  const Tree tree;
  tree.mounts("31 30 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"s + v1_table);
  tree.in("", {{"cpuset.cpus", "0-7"}}, "/cpuset");
  tree.in("/slurm", {{"cpuset.cpus", "0-7"}}, "/cpuset");
  const std::string job = "/slurm/uid_1000/job_12";
  tree.in("/slurm/uid_1000", {{"cpuset.cpus", "0-7"}}, "/cpuset");
  tree.in(job, {{"cpuset.cpus", "0-3"}}, "/cpuset");
  for (const char* step : {"/step_batch", "/step_0"}) tree.in(job + step, {{"cpuset.cpus", "0-3"}}, "/cpuset");
  tree.put({10, 100, 0, "python", 1, 0, "7:cpuset:" + job + "/step_0\n6:memory:/\n4:cpu,cpuacct:/system.slice/slurmd.service\n0::/\n"});
  tree.write("sys/fs/cgroup/cpuset" + job + "/step_0/cgroup.procs", "10\n");
  // Its own word counts only for what the cgroup leaves open.
  tree.write("proc/10/environ", "SLURM_JOB_ID=12\0SLURM_CPUS_ON_NODE=1\0SLURM_MEM_PER_NODE=4096\0SLURM_JOB_GPUS=1"s);
  Looked looked(tree);
  EXPECT_NEAR(looked.cpus(job), 4, 1e-9);
  EXPECT_EQ(looked.named(job)->workload.job, "12");
  EXPECT_EQ(looked.named(job + "/step_0"), nullptr);
  Workload workload = at("/system.slice/slurmd.service");
  workload.job = "12";
  const auto place = looked.reservations.place_of({10, 100}, workload, false);
  ASSERT_TRUE(place.of[0] && place.of[1] && place.accelerators);
  EXPECT_EQ(looked.reservations.all()[*place.of[0]].name, job);
  EXPECT_EQ(looked.reservations.all()[*place.of[1]].name, "slurm job 12");
  EXPECT_NEAR(looked.gib("slurm job 12"), 4, 1e-9);
  EXPECT_EQ(looked.named("slurm job 12")->share[0], 0);
  EXPECT_EQ(looked.named("slurm job 12")->accelerators, std::vector<int>{1});
}

TEST(Reservations, ASlurmJobWithoutCgroupsStaysWhileItSleeps) {
  const Tree tree;
  tree.put({10, 100, 0, "python", 1, 0, "0::/system.slice/slurmd.service\n"});
  tree.write("proc/10/environ", "SLURM_JOB_ID=7\0SLURM_CPUS_ON_NODE=2"s);
  Looked looked(tree);
  EXPECT_EQ(looked.cpu_of(10, "/system.slice/slurmd.service"), "slurm job 7");
  looked.reservations.look(MonoTime{1} + seconds(11));
  EXPECT_NEAR(looked.cpus("slurm job 7"), 2, 1e-9);
  EXPECT_EQ(looked.named("slurm job 7")->workload.user, "ada");
  tree.end(10);
  looked.reservations.look(MonoTime{1} + seconds(22));
  EXPECT_EQ(looked.named("slurm job 7"), nullptr);
}

// 500m and 250m are 512 and 256 shares: weights 20 and 10, of which 0.488 and 0.232 CPUs follow. (The kubelet's formula by hand.)
void expect_pod(const std::string& top, const std::string& pod, const std::string& one, const std::string& two) {
  const Tree tree;
  tree.in(top, {{"cpu.weight", "292"}, {"memory.max", "15032385536"}, {"cpu.max", "max 100000"}});
  tree.in(pod, {{"cpu.weight", "30"}, {"memory.max", "max"}, {"cpu.max", "200000 100000"}});
  tree.in(pod + one, {{"cpu.weight", "20"}, {"memory.max", "2147483648"}, {"cpu.max", "200000 100000"}});
  tree.in(pod + two, {{"cpu.weight", "10"}, {"memory.max", "max"}});
  tree.in(pod + one + "/init.scope", {{"cpu.weight", "100"}});  // the container's own business
  tree.runs(10, pod + one + "/init.scope");
  tree.runs(11, pod + two);
  Looked looked(tree);
  EXPECT_NEAR(looked.cpus(pod + one), 0.4884, 0.0001);
  EXPECT_NEAR(looked.cpus(pod + two), 0.2324, 0.0001);
  EXPECT_EQ(looked.cpus(pod), 0);
  EXPECT_TRUE(looked.named(pod + one)->derived);
  EXPECT_NEAR(looked.gib(pod + one), 2, 1e-9);
  EXPECT_EQ(looked.named(top), nullptr);
  EXPECT_EQ(looked.cpu_of(10, pod + one + "/init.scope"), pod + one);
  EXPECT_EQ(looked.named(pod + two)->workload.pod, "7f1c4f0e-1111-2222-3333-444455556666");
}

TEST(Reservations, APodOfTheKubeletsSystemdDriver) {
  expect_pod("/kubepods.slice", "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod7f1c4f0e_1111_2222_3333_444455556666.slice",
             "/cri-containerd-" + C + ".scope", "/cri-containerd-" + D + ".scope");
}

TEST(Reservations, APodOfTheKubeletsCgroupfsDriver) {
  expect_pod("/kubepods", "/kubepods/burstable/pod7f1c4f0e-1111-2222-3333-444455556666", "/" + C, "/" + D);
}

TEST(Reservations, APodThatRequestsNothingReservesNothing) {
  const Tree tree;
  const std::string pod = "/kubepods/besteffort/pod7f1c4f0e-1111-2222-3333-444455556666";
  tree.in(pod, {{"cpu.weight", "1"}, {"memory.max", "max"}});
  tree.in(pod + "/" + C, {{"cpu.weight", "1"}, {"memory.max", "max"}});
  tree.runs(10, pod + "/" + C);
  Looked looked(tree);
  EXPECT_TRUE(looked.reservations.all().empty());
  EXPECT_EQ(looked.cpu_of(10, pod + "/" + C), "");
}

// v1: shares are told as they are.
TEST(Reservations, APodOnV1) {
  const Tree tree;
  tree.mounts(v1_table);
  const std::string pod = "/kubepods/burstable/pod7f1c4f0e-1111-2222-3333-444455556666";
  tree.in(pod, {{"cpu.shares", "1536"}}, "/cpu,cpuacct");
  tree.in(pod + "/" + C, {{"cpu.shares", "1536"}}, "/cpu,cpuacct");
  tree.runs(10, pod + "/" + C, v1_mounts);
  const Looked looked(tree);
  EXPECT_NEAR(looked.cpus(pod + "/" + C), 1.5, 1e-9);
}

TEST(Reservations, BelongToTheirUserAsLongAsAllAgree) {
  const Tree tree;
  tree.in("/a", {{"cpu.max", "100000 100000"}});
  tree.runs(10, "/a");
  tree.runs(11, "/a");
  Looked looked(tree);
  Workload ada = at("/a"), bob = at("/a", "bob");
  ada.tags = {{"team", "vision"}, {"exp", "7"}};
  bob.tags = {{"team", "vision"}, {"exp", "8"}};
  (void)looked.reservations.place_of({10, 100}, ada, false);
  EXPECT_EQ(looked.named("/a")->workload.user, "ada");
  (void)looked.reservations.place_of({11, 100}, bob, false);
  EXPECT_EQ(looked.named("/a")->workload.user, "");
  EXPECT_EQ(looked.named("/a")->workload.tags, (std::map<std::string, std::string>{{"team", "vision"}}));
}

// Whatever quotas are nested in one another: nothing negative, and what is inside sums to what was reserved outside, or less.
RC_GTEST_PROP(Reservations, NothingIsGivenOutTwice, ()) {
  const Tree tree;
  std::vector<std::string> paths = {""};
  std::map<std::string, double> quota;
  const int count = *rc::gen::inRange(1, 9);
  for (int i = 0; i < count; ++i) {
    const std::string path = *rc::gen::elementOf(paths) + "/" + *rc::gen::elementOf(std::vector<std::string>{"a", "a-b", "b"});
    const int tenths = *rc::gen::inRange(0, 120);
    if (tenths > 0) tree.in(path, {{"cpu.max", std::to_string(tenths * 10'000) + " 100000"}});
    tree.runs(10 + i, path);
    paths.push_back(path);
    if (tenths > 0) quota[path] = std::min(8.0, tenths / 10.0);
  }
  const Looked looked(tree);
  for (const auto& [outer, cpus] : quota) {
    double sum = 0;
    for (const Allocation& one : looked.reservations.all()) {
      RC_ASSERT(one.share[0] >= 0);
      if (one.name == outer || one.name.starts_with(outer + "/")) sum += one.share[0] * 8;
    }
    RC_ASSERT(sum <= cpus + 1e-9);
  }
}

// The real kernel: a cgroup that the test makes and bounds, with a process of its own in it.
TEST(Reservations, OfARealCgroup) {
  std::ifstream mountinfo("/proc/self/mountinfo");
  const std::string mounts{std::istreambuf_iterator<char>(mountinfo), {}};
  const auto cpu = find_hierarchy(mounts, "cpu");
  if (!cpu) GTEST_SKIP() << "skipped: no hierarchy of cgroups with CPU control";
  const std::string name = "/joulery-reserve-" + std::to_string(getpid()), folder = cpu->folder + name;
  if (mkdir(folder.c_str(), 0755) != 0) GTEST_SKIP() << "skipped: no cgroups can be made here";
  const std::string file = cpu->controllers.empty() ? "/cpu.max" : "/cpu.cfs_quota_us";
  const std::string half = cpu->controllers.empty() ? "50000 100000" : "50000";
  const bool bounded = static_cast<bool>(std::ofstream(folder + file, std::ios::in) << half << std::flush);
  bool found = false, placed = false, joined = false;
  double cpus = 0;
  if (bounded) {
    const Burner child([] {});
    joined = static_cast<bool>(std::ofstream(folder + "/cgroup.procs") << child.pid << std::flush);
    const int all = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
    Reservations reservations("", all);
    reservations.look(mono_now());
    const std::string path = (cpu->root == "/" ? "" : cpu->root) + name;
    const auto place = reservations.place_of({child.pid, 1}, at(path), false);
    placed = place.of[0] && reservations.all()[*place.of[0]].name == path;
    for (const Allocation& one : reservations.all())
      if (one.name == path) found = true, cpus = one.share[0] * all;
  }
  for (int i = 0; i < 100 && rmdir(folder.c_str()) != 0; ++i) usleep(10'000);
  if (!bounded || !joined) GTEST_SKIP() << "skipped: cgroups cannot be bounded or joined here";
  EXPECT_TRUE(found);
  EXPECT_TRUE(placed);
  EXPECT_NEAR(cpus, 0.5, 1e-9);
}

}  // namespace
}  // namespace joulery
