#include "watch/workloads.h"

#include <gtest/gtest.h>

#include "tests/unit/watch/machine_tree.h"

namespace joulery {
namespace {

using namespace std::string_literals;

const std::string B = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

CpuUse use_of(const MachineTree::Process& process, std::uint64_t cgroup, bool ended = false) {
  return {
      {process.pid, process.start}, process.parent, static_cast<std::uint32_t>(process.user), process.name, cgroup, milliseconds(1), ended};
}

TEST(Workloads, OfAProcessOnV2) {
  const MachineTree tree;
  tree.write("etc/passwd", "root:x:0:0:root:/root:/bin/sh\nada:x:1000:1000::/home/ada:/bin/sh\n");
  const std::string path = "/system.slice/docker-" + B + ".scope";
  const MachineTree::Process process{10, 100, 0, "python", 1, 1000, "0::" + path + "\n"};
  tree.put(process);
  tree.write("proc/10/environ", "A=1\0JOULERY_TAGS=team=vision, exp = 7,rubbish,=x\0B=2\0"s);
  Workloads workloads(tree.root());
  const Workload& workload = workloads.of(use_of(process, tree.cgroup(path)));
  EXPECT_EQ(workload.cgroup, path);
  EXPECT_EQ(workload.container, B);
  EXPECT_EQ(workload.runtime, "docker");
  EXPECT_EQ(workload.unit, "docker-" + B + ".scope");
  EXPECT_EQ(workload.user, "ada");
  EXPECT_EQ(workload.tags, (Tags{{"team", "vision"}, {"exp", "7"}}));
}

TEST(Workloads, OfAProcessOnV1AndHybrid) {
  const MachineTree tree;
  tree.mounts(
      "31 30 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
      "35 30 0:31 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n");
  const std::string lines =
      "9:name=systemd:/system.slice/slurmd.service\n8:freezer:/slurm/uid_0/job_12/step_1\n4:cpu,cpuacct:/batch\n0::/\n";
  const MachineTree::Process process{10, 100, 0, "python", 1, 77, lines};
  tree.put(process);
  Workloads workloads(tree.root());
  const std::uint64_t batch = tree.cgroup("/batch", "sys/fs/cgroup/cpu,cpuacct");
  const Workload workload = workloads.of(use_of(process, batch));
  EXPECT_EQ(workload.cgroup, "/batch");
  EXPECT_EQ(workload.unit, "slurmd.service");
  EXPECT_EQ(workload.job, "12");
  EXPECT_EQ(workload.step, "12.1");
  EXPECT_EQ(workload.user, "77");  // who has no name
  // A stranger in the same cgroup is not of that job; a child of the process that ended unseen is.
  EXPECT_EQ(workloads.of(use_of({20, 200, 0, "other"}, batch, true)).job, "");
  EXPECT_EQ(workloads.of(use_of({20, 200, 0, "other"}, batch, true)).cgroup, "/batch");
  EXPECT_EQ(workloads.of(use_of({21, 200, 0, "child", 10}, batch, true)).job, "12");
}

TEST(Workloads, AnEndedProcessIsKnownByItsCgroupAndItsParent) {
  const MachineTree tree;
  const std::uint64_t web = tree.cgroup("/system.slice/web.service"), deep = tree.cgroup("/a.slice/b.slice/c.service");
  const MachineTree::Process parent{10, 100, 0, "nginx", 1, 0, "0::/system.slice/web.service\n"};
  tree.put(parent);
  tree.write("proc/10/environ", std::string("JOULERY_TAGS=team=web"));
  Workloads workloads(tree.root());
  EXPECT_EQ(workloads.of(use_of(parent, web)).tags.at("team"), "web");
  const Workload child = workloads.of(use_of({11, 200, 0, "worker", 10}, web, true));
  EXPECT_EQ(child.unit, "web.service");
  EXPECT_EQ(child.tags, (Tags{{"team", "web"}}));
  tree.remove_cgroup("/system.slice");
  EXPECT_EQ(workloads.of(use_of({12, 200, 0, "late"}, web, true)).unit, "web.service");  // remembered
  EXPECT_EQ(Workloads(tree.root()).of(use_of({13, 200, 0, "x"}, deep, true)).unit, "c.service");  // found in the folders
  EXPECT_EQ(Workloads(tree.root()).of(use_of({13, 200, 0, "x"}, 999'999'999, true)).cgroup, "");
}

// A container that came and went between two looks, with its folder.
TEST(Workloads, ACgroupThatIsGoneIsKnownByTheNameItWasMadeWith) {
  const MachineTree tree;
  Workloads workloads(tree.root());
  const std::vector<CgroupName> made = {{4711, "/system.slice/docker-" + B + ".scope"}};
  workloads.learn(made);
  EXPECT_EQ(workloads.of(use_of({12, 200, 0, "job"}, 4711, true)).container, B);
}

TEST(Workloads, AProcessThatMovesOrBecomesAnotherProgramIsReadAgain) {
  const MachineTree tree;
  const std::uint64_t a = tree.cgroup("/a.service"), b = tree.cgroup("/b.service");
  MachineTree::Process process{10, 100, 0, "sh", 1, 0, "0::/a.service\n"};
  tree.put(process);
  tree.write("proc/10/environ", std::string("JOULERY_TAGS=exp=1"));
  Workloads workloads(tree.root());
  EXPECT_EQ(workloads.of(use_of(process, a)).unit, "a.service");
  process.cgroup = "0::/b.service\n";
  tree.put(process);
  EXPECT_EQ(workloads.of(use_of(process, b)).unit, "b.service");
  tree.write("proc/10/environ", std::string("JOULERY_TAGS=exp=2"));
  EXPECT_EQ(workloads.of(use_of(process, b)).tags.at("exp"), "1");  // read once
  process.name = "python";
  EXPECT_EQ(workloads.of(use_of(process, b)).tags.at("exp"), "2");
  process.start = 500;  // the pid again
  tree.write("proc/10/environ", "");
  EXPECT_TRUE(workloads.of(use_of(process, b)).tags.empty());
  EXPECT_EQ(workloads.size(), 1U);
  const ProcessId old{10, 100}, now{10, 500};
  workloads.forget({&old, 1});
  EXPECT_EQ(workloads.size(), 1U);
  workloads.forget({&now, 1});
  EXPECT_EQ(workloads.size(), 0U);
}

TEST(Workloads, RulesGiveTags) {
  const MachineTree tree;
  const std::uint64_t id = tree.cgroup("/system.slice/train.service");
  const MachineTree::Process process{10, 100, 0, "python3", 1, 0, "0::/system.slice/train.service\n"};
  tree.put(process);
  tree.write("proc/10/environ", std::string("JOULERY_TAGS=team=mine,exp=7"));
  tree.write("etc/passwd", "root:x:0:0::/:/bin/sh\n");
  const std::vector<TagRule> rules = {{"", "", "", "", {{"site", "lab"}}},
                                      {"root", "train.*", "py*", "/system.slice/*", {{"team", "vision"}}},
                                      {"ada", "", "", "", {{"team", "wrong"}}},
                                      {"", "", "java", "", {{"lang", "java"}}}};
  Workloads workloads(tree.root(), rules);
  EXPECT_EQ(workloads.of(use_of(process, id)).tags, (Tags{{"site", "lab"}, {"team", "vision"}, {"exp", "7"}}));
}

TEST(Tags, OfText) {
  EXPECT_EQ(tags_of_text(""), Tags{});
  EXPECT_EQ(tags_of_text("a=b=c,,x, =y,a2="), (Tags{{"a", "b=c"}, {"a2", ""}}));
}

}  // namespace
}  // namespace joulery
