#include "watch/cgroup_path.h"

#include <gtest/gtest.h>

#include <string>

#include "watch/cgroup_mounts.h"

namespace joulery {
namespace {

const std::string A(64, 'a'), B = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const std::string U = "8c1d2f30-4b5e-4a6f-9d7c-0e1f2a3b4c5d", U_ = "8c1d2f30_4b5e_4a6f_9d7c_0e1f2a3b4c5d";
const std::string V = "11111111-2222-3333-4444-555555555555", V_ = "11111111_2222_3333_4444_555555555555";

struct Expected {
  std::string container, runtime, pod = {}, unit = {}, job = {}, step = {};
};

void expect(const Workload& found, const Expected& expected, const std::string& of) {
  EXPECT_EQ(found.container, expected.container) << of;
  EXPECT_EQ(found.runtime, expected.runtime) << of;
  EXPECT_EQ(found.pod, expected.pod) << of;
  EXPECT_EQ(found.unit, expected.unit) << of;
  EXPECT_EQ(found.job, expected.job) << of;
  EXPECT_EQ(found.step, expected.step) << of;
}

void expect_path(const std::string& path, const Expected& expected) { expect(workload_of_cgroup(path), expected, path); }

TEST(CgroupPath, Case24ContainerdInKubernetesInDocker) {
  const std::string text = "0::/system.slice/docker-" + A +
                           ".scope/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/" +
                           "kubelet-kubepods-burstable-pod" + U_ + ".slice/cri-containerd-" + B + ".scope\n";
  expect(workload_of_proc_cgroup(text), {B, "containerd", U, "cri-containerd-" + B + ".scope"}, text);
}

// Neither the path nor the driver cgroupfs says which runtime it was.
TEST(CgroupPath, Case24ControllerOfV1WithTheDriverCgroupfs) {
  const std::string text = "11:cpuset:/kubepods/burstable/pod" + U + "/" + B + "\n";
  expect(workload_of_proc_cgroup(text), {B, "", U}, text);
}

TEST(CgroupPath, Case24NameInSystemdsFormGivenToCgroupfs) {
  const std::string text = "0::/system.slice/containerd.service/kubepods-burstable-pod" + U_ + ".slice:cri-containerd:" + B + "\n";
  expect(workload_of_proc_cgroup(text), {B, "containerd", U, "containerd.service"}, text);
}

TEST(CgroupPath, Case24PodmanWithAFolderBelowItsScope) {
  const std::string text = "0::/machine.slice/libpod-" + B + ".scope/container\n";
  expect(workload_of_proc_cgroup(text), {B, "podman", "", "libpod-" + B + ".scope"}, text);
}

TEST(CgroupPath, Docker) {
  expect_path("/system.slice/docker-" + B + ".scope", {B, "docker", "", "docker-" + B + ".scope"});
  expect_path("/docker/" + B, {B, "docker"});
  expect_path("/docker/" + A + "/docker/" + B, {B, "docker"});
  expect_path("/docker/" + A + "/system.slice/nginx.service", {A, "docker", "", "nginx.service"});
  expect_path("/system.slice:docker:" + B, {B, "docker"});
  expect_path("/ecs/4a1b/" + B, {B, ""});
}

TEST(CgroupPath, KubeletWithEitherDriver) {
  expect_path("/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" + U_ + ".slice/docker-" + B + ".scope",
              {B, "docker", U, "docker-" + B + ".scope"});
  expect_path("/kubepods.slice/kubepods-pod" + U_ + ".slice/crio-" + B + ".scope", {B, "cri-o", U, "crio-" + B + ".scope"});
  expect_path("/kubepods.slice/kubepods-pod" + U_ + ".slice/crio-" + B + ".scope/container", {B, "cri-o", U, "crio-" + B + ".scope"});
  expect_path("/kubepods.slice/kubepods-pod" + U_ + ".slice/crio-conmon-" + B + ".scope", {"", "", U, "crio-conmon-" + B + ".scope"});
  expect_path("/kubepods/pod" + U + "/crio-" + B, {B, "cri-o", U});
  expect_path("/kubepods/besteffort/pod" + U + "/" + B, {B, "", U});
  expect_path("/kubepods/burstable/pod" + std::string(32, 'c') + "/" + B, {B, "", std::string(32, 'c')});  // a static pod
}

TEST(CgroupPath, TheInnermostWins) {
  const std::string outer = "/kubepods.slice/kubepods-pod" + U_ + ".slice/cri-containerd-" + A + ".scope";
  expect_path(outer + "/docker/" + B, {B, "docker", U, "cri-containerd-" + A + ".scope"});
  expect_path(outer + "/kubelet/kubepods/pod" + V + "/" + B, {B, "", V, "cri-containerd-" + A + ".scope"});
  expect_path(outer + "/kubelet.slice/kubelet-kubepods-pod" + V_ + ".slice/cri-containerd-" + B + ".scope",
              {B, "containerd", V, "cri-containerd-" + B + ".scope"});
  expect_path("/machine.slice/machine-builder.scope/payload/system.slice/docker-" + B + ".scope",
              {B, "docker", "", "docker-" + B + ".scope"});
}

TEST(CgroupPath, Podman) {
  expect_path("/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" + B + ".scope/container",
              {B, "podman", "", "libpod-" + B + ".scope"});
  expect_path("/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-conmon-" + B + ".scope",
              {"", "", "", "libpod-conmon-" + B + ".scope"});
  expect_path("/system.slice/web.service/libpod-payload-" + B, {B, "podman", "", "web.service"});
  expect_path("/machine.slice/machine-libpod_pod_" + A + ".slice/libpod-" + B + ".scope", {B, "podman", "", "libpod-" + B + ".scope"});
  expect_path("/libpod_parent/libpod-" + B, {B, "podman"});
  expect_path("/libpod_parent/" + B, {B, "podman"});
}

TEST(CgroupPath, Containerd) {
  expect_path("/k8s.io/" + B, {B, "containerd"});
  expect_path("/default/" + B, {B, "containerd"});
  expect_path("/system.slice/nerdctl-" + B + ".scope", {B, "containerd", "", "nerdctl-" + B + ".scope"});
  expect_path("/user.slice:nerdctl:" + B, {B, "containerd"});
}

TEST(CgroupPath, SystemdNspawnAndLxc) {
  expect_path("/machine.slice/machine-deb12.scope", {"deb12", "systemd-nspawn", "", "machine-deb12.scope"});
  expect_path("/machine.slice/machine-my\\x2dbox.scope/payload/system.slice/cron.service",
              {"my-box", "systemd-nspawn", "", "cron.service"});
  expect_path("/machine.slice/systemd-nspawn@deb12.service/payload/init.scope", {"deb12", "systemd-nspawn", "", "init.scope"});
  expect_path("/machine.slice/machine-qemu\\x2d1\\x2dvm.scope", {"", "", "", "machine-qemu\\x2d1\\x2dvm.scope"});
  expect_path("/lxc/web/ns/system.slice/nginx.service", {"web", "lxc", "", "nginx.service"});
  expect_path("/lxc.payload.web", {"web", "lxc"});
  expect_path("/lxc.monitor.web", {"", ""});
}

TEST(CgroupPath, SystemdUnits) {
  expect_path("/", {"", ""});
  expect_path("", {"", ""});
  expect_path("/init.scope", {"", "", "", "init.scope"});
  expect_path("/system.slice/nginx.service", {"", "", "", "nginx.service"});
  expect_path("/system.slice/system-postgresql.slice/postgresql@15-main.service", {"", "", "", "postgresql@15-main.service"});
  expect_path("/user.slice/user-1000.slice/session-3.scope", {"", "", "", "session-3.scope"});
  expect_path("/user.slice/user-1000.slice/user@1000.service/app.slice/app-code.scope", {"", "", "", "app-code.scope"});
  expect_path("/user.slice", {"", ""});
  expect_path("/.service", {"", ""});
}

TEST(CgroupPath, SlurmV1AndV2) {
  expect_path("/slurm/uid_1000/job_4711/step_0/task_3", {"", "", "", "", "4711", "4711.0"});
  expect_path("/slurm_node7/uid_1000/job_4711/step_batch", {"", "", "", "", "4711", "4711.batch"});
  expect_path("/slurm/uid_1000/job_4711", {"", "", "", "", "4711", ""});
  expect_path("/system.slice/slurmstepd.scope/job_4711/step_extern/user/task_special",
              {"", "", "", "slurmstepd.scope", "4711", "4711.extern"});
  expect_path("/system.slice/node7_slurmstepd.scope/job_4711/step_0/user/task_0", {"", "", "", "node7_slurmstepd.scope", "4711", "4711.0"});
  expect_path("/system.slice/slurmstepd.scope/job_4711/step_0/user/libpod-" + B + ".scope",
              {B, "podman", "", "libpod-" + B + ".scope", "4711", "4711.0"});
  expect_path("/batch/job_4711/step_0", {"", ""});              // not Slurm's
  expect_path("/slurm/uid_1000/job_x/step_0", {"", ""});
}

TEST(CgroupPath, WhatOnlyLooksLikeOneIsNone) {
  for (const std::string& path :
       {std::string("/system.slice/docker-1234.scope"), "/docker/" + B.substr(1), "/docker/" + B + "0", std::string("/kubepods/podx/y")})
    EXPECT_EQ(workload_of_cgroup(path).container, "") << path;
  EXPECT_EQ(workload_of_cgroup("/system.slice/docker-" + std::string(64, 'G') + ".scope").container, "");
  EXPECT_EQ(workload_of_cgroup("/pod" + std::string(36, '-')).pod, "");
  EXPECT_EQ(workload_of_cgroup("/system.slice/pod-" + U + ".slice").pod, "");
  EXPECT_EQ(workload_of_cgroup("/a:b:" + B + "x").container, "");
}

TEST(ProcCgroup, LinesOfV1AndV2) {
  const std::string text = "12:cpu,cpuacct:/a\n1:name=systemd:/b:c\nrubbish\n0::/d (deleted)\n:x:/e\n7:freezer:none\n";
  const auto lines = lines_of_proc_cgroup(text);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_TRUE(lines[0].has_controller("cpuacct"));
  EXPECT_FALSE(lines[0].has_controller("cpua"));
  EXPECT_EQ(lines[0].path, "/a");
  EXPECT_EQ(lines[1].controllers, "name=systemd");
  EXPECT_EQ(lines[1].path, "/b:c");
  EXPECT_EQ(lines[2].controllers, "");
  EXPECT_EQ(lines[2].path, "/d");
}

TEST(ProcCgroup, FactsComeFromWhicheverHierarchyKnowsThem) {
  const std::string text =
      "9:name=systemd:/system.slice/slurmd.service\n8:freezer:/slurm/uid_0/job_12/step_1\n2:cpuacct:/\n1:cpu:/\n0::/\n";
  expect(workload_of_proc_cgroup(text), {"", "", "", "slurmd.service", "12", "12.1"}, text);
  const std::string docker = "5:memory:/docker/" + A + "\n4:cpu,cpuacct:/docker/" + B + "\n";
  expect(workload_of_proc_cgroup(docker), {B, "docker"}, docker);
  const std::string two = "5:memory:/docker/" + B + "\n4:cpu,cpuacct:/" + B + "\n";
  expect(workload_of_proc_cgroup(two), {B, "docker"}, two);
}

TEST(CgroupMounts, TheHierarchyThatAccountsCpuTime) {
  const auto v2 = find_cpu_hierarchy(
      "24 1 0:21 / /proc rw - proc proc rw\n30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n");
  ASSERT_TRUE(v2);
  EXPECT_EQ(v2->controller, CpuController::unified);
  EXPECT_EQ(v2->folder, "/sys/fs/cgroup");
  EXPECT_EQ(v2->controllers, "");
  const auto hybrid = find_cpu_hierarchy(
      "31 30 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
      "34 30 0:30 / /sys/fs/cgroup/cpuset rw shared:9 - cgroup cgroup rw,cpuset\n"
      "35 30 0:31 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,xattr,cpu,cpuacct\n");
  ASSERT_TRUE(hybrid);
  EXPECT_EQ(hybrid->controller, CpuController::cpuacct);
  EXPECT_EQ(hybrid->folder, "/sys/fs/cgroup/cpu,cpuacct");
  EXPECT_EQ(hybrid->controllers, "cpu,cpuacct");
  const auto apart = find_cpu_hierarchy(
      "35 30 0:31 / /cg/cpu rw - cgroup cgroup rw,cpu\n36 30 0:32 /docker/x /bound rw - cgroup cgroup rw,cpuacct\n"
      "37 30 0:32 / /cg/a\\040b rw - cgroup cgroup rw,cpuacct\n");
  ASSERT_TRUE(apart);
  EXPECT_EQ(apart->folder, "/cg/a b");  // all of it goes before a part of it
  EXPECT_FALSE(find_cpu_hierarchy(""));
  EXPECT_FALSE(find_cpu_hierarchy("34 30 0:30 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\nrubbish\n1 2 3 - cgroup2\n"));
}

}  // namespace
}  // namespace joulery
