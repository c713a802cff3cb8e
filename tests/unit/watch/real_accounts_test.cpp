// The accounts against the real kernel. Skips, and says so, where eBPF or cgroups are not allowed.
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>

#include "tests/unit/watch/real_load.h"
#include "watch/bpf_account.h"
#include "watch/open_cpu_account.h"
#include "watch/proc_account.h"

namespace joulery {
namespace {

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
  expect_within(in_a, used_a, 0.03, "a");
  expect_within(in_b, used_b, 0.03, "b");
}

TEST_P(RealAccount, NeverMoreThanTheCpusHad) {
  const MonoTime begin = mono_now();
  // Ticks come late where a hypervisor has the CPU. What ran when the account was opened was known up to the scheduler's last tick; the rest of that slice comes later.
  const Duration grain = milliseconds(20);
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
    EXPECT_LE(sums.all + sums.unattributed, cpus * (uses->when.end - opened + grain).base_units())
        << "look " << look << ", " << sums.all << " ns of processes, " << sums.unattributed << " unattributed";
    EXPECT_GE(uses->unattributed, Duration{});
  }
  const std::int64_t used = burner.wait();
  ASSERT_TRUE(sums.look(*account));
  expect_within(sums.cpu[burner.pid], used, 0.05, "burner");
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
  // Perhaps once more, with its last moments, which on a busy machine may be some time after; but not for ever.
  const auto is_it = [&](const ProcessId& id) { return id.pid == pid; };
  for (int look = 0; look < 200 && std::ranges::any_of(sums.ended, is_it); ++look) {
    usleep(20'000);
    sums.ended.clear();
    ASSERT_TRUE(sums.look(*account));
  }
  EXPECT_FALSE(std::ranges::any_of(sums.ended, is_it));
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
    EXPECT_LE(sums.unattributed, sums.all / 1000);
  } else {
    EXPECT_LE(billed, used);
    EXPECT_GE(billed + sums.unattributed, used * 95 / 100) << "what /proc cannot tell by name is told as unattributed";
  }
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
