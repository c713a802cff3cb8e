#include "watch/process_tree.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <thread>

#include "tests/unit/watch/helpers.h"
#include "watch/child.h"
#include "watch/proc_stat.h"

namespace joulery {
namespace {

// A folder that looks like /proc to the tree; one thread per process.
class FakeProc {
 public:
  std::string root() const { return (folder_ / "").string(); }
  fs::path process(int pid) const { return folder_ / ("proc/" + std::to_string(pid)); }

  void put(int pid, int parent, const std::string& name, long start, long long ns, long ticks = 0) const {
    const fs::path task = process(pid) / "task" / std::to_string(pid);
    fs::create_directories(task);
    std::ofstream(process(pid) / "stat") << pid << " (" << name << ") S " << parent << " 1 1 0 -1 0 0 0 0 0 " << ticks << " 0 0 0 20 0 1 0 "
                                         << start << " 0 0\n";
    std::ofstream(task / "schedstat") << ns << " 0 1\n";
  }
  void children(int pid, const std::string& list) const { std::ofstream(process(pid) / "task" / std::to_string(pid) / "children") << list; }
  void thread(int pid, int tid, long long ns) const {
    fs::create_directories(process(pid) / "task" / std::to_string(tid));
    std::ofstream(process(pid) / "task" / std::to_string(tid) / "schedstat") << ns << " 0 1\n";
  }

 private:
  Folder folder_;
};

const ProcessSample* find(const std::vector<ProcessSample>& samples, std::int32_t pid) {
  for (const ProcessSample& sample : samples)
    if (sample.id.pid == pid) return &sample;
  return nullptr;
}

TEST(ProcStat, Case23ANameWithBracketsAndSpaces) {
  const auto stat = parse_proc_stat("42 (a) R (b)) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20");
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->pid, 42);
  EXPECT_EQ(stat->name, "a) R (b)");
  EXPECT_EQ(stat->state, 'S');
  EXPECT_EQ(stat->parent, 1);
  EXPECT_EQ(stat->user_ticks, 11);
  EXPECT_EQ(stat->system_ticks, 12);
  EXPECT_EQ(stat->start_ticks, 4711);
}

TEST(ProcStat, RubbishIsNoProcess) {
  for (const char* text : {"", "42", "42 (a", "42 a) S 1", "(a) S 1", "x (a) S 1", "42 (a) S", "42 (a) S 1 2 3", ")(", "42 )( S 1"})
    EXPECT_FALSE(parse_proc_stat(text)) << text;
}

TEST(ProcessTree, Case23AProcessThatVanishesIsSkippedAndCounted) {
  const FakeProc proc;
  proc.put(10, 1, "make", 100, 5'000'000);
  proc.put(43, 10, "a) R (b)", 102, 7'000'000);
  proc.children(10, "42 43 ");  // 42 is gone by the time we read it
  ProcessTree tree(10, proc.root());
  const auto samples = tree.scan(mono_now());
  ASSERT_EQ(samples.size(), 2U);
  EXPECT_EQ(tree.vanished(), 1);
  const ProcessSample* child = find(samples, 43);
  ASSERT_TRUE(child);
  EXPECT_EQ(child->name, "a) R (b)");
  EXPECT_EQ(child->parent, 10);
  EXPECT_EQ(child->id.start_ticks, 102);
  EXPECT_EQ(child->cpu, nanoseconds(7'000'000));
}

TEST(ProcessTree, WithoutListsOfChildrenParentsAreReadFromAllOfProc) {
  const FakeProc proc;
  proc.put(10, 1, "sh", 100, 1);
  proc.put(11, 10, "worker", 101, 2);
  proc.put(12, 11, "helper", 102, 3);
  proc.put(20, 1, "foreign", 50, 4);
  ProcessTree tree(10, proc.root());
  EXPECT_FALSE(tree.lists_children());
  const auto samples = tree.scan(mono_now());
  ASSERT_EQ(samples.size(), 3U);
  EXPECT_FALSE(find(samples, 20));
  EXPECT_EQ(find(samples, 12)->parent, 11);
}

TEST(ProcessTree, ThreadsThatEndedAreNotLost) {
  const FakeProc proc;
  proc.put(10, 1, "train", 100, 1'000'000'000, 300);
  proc.thread(10, 11, 2'000'000'000);
  ProcessTree tree(10, proc.root());
  EXPECT_EQ(tree.scan(mono_now())[0].cpu, seconds(3));
  fs::remove_all(proc.process(10) / "task/11");
  EXPECT_EQ(tree.scan(mono_now())[0].cpu, seconds(3));
  // One that came and went unseen shows in the process's ticks alone: 5 s by them.
  proc.put(10, 1, "train", 100, 1'500'000'000, 5 * sysconf(_SC_CLK_TCK));
  EXPECT_EQ(tree.scan(mono_now())[0].cpu, seconds(5));
}

TEST(ProcessTree, AReusedPidIsAnotherProcess) {
  const FakeProc proc;
  proc.put(10, 1, "sh", 100, 0);
  proc.put(11, 10, "first", 101, 9);
  proc.children(10, "11");
  ProcessTree tree(10, proc.root());
  EXPECT_EQ(tree.scan(mono_now()).size(), 2U);
  proc.put(11, 1, "foreign", 500, 1);  // somebody else's now
  proc.children(10, "");
  const auto samples = tree.scan(mono_now());
  EXPECT_EQ(samples.size(), 1U);
  proc.put(11, 10, "second", 700, 2);  // and ours again
  proc.children(10, "11");
  const auto again = tree.scan(mono_now());
  ASSERT_EQ(again.size(), 2U);
  EXPECT_EQ(find(again, 11)->name, "second");
  EXPECT_EQ(find(again, 11)->cpu, nanoseconds(2));
}

TEST(ProcessTree, WhatWasSeenStaysWhenItsParentEnds) {
  const FakeProc proc;
  proc.put(10, 1, "sh", 100, 0);
  proc.put(11, 10, "middle", 101, 1);
  proc.put(12, 11, "daemon", 102, 2);
  proc.children(10, "11");
  proc.children(11, "12");
  ProcessTree tree(10, proc.root());
  EXPECT_EQ(tree.scan(mono_now()).size(), 3U);
  fs::remove_all(proc.process(11));
  proc.put(12, 1, "daemon", 102, 8);
  proc.children(10, "");
  const auto samples = tree.scan(mono_now());
  ASSERT_TRUE(find(samples, 12));
  EXPECT_EQ(find(samples, 12)->cpu, nanoseconds(8));
  EXPECT_EQ(find(samples, 12)->parent, 1);
}

TEST(ProcessTree, UnseenIsWhatTheKernelSumsUpBeyondWhatWasSeen) {
  const FakeProc proc;
  proc.put(10, 1, "sh", 100, 1'000);
  proc.put(11, 10, "worker", 101, 20'000);
  proc.put(12, 10, "daemon", 102, 500);
  proc.children(10, "11 12");
  ProcessTree tree(10, proc.root());
  tree.scan(mono_now());
  fs::remove_all(proc.process(10));
  fs::remove_all(proc.process(11));
  // The command used 3000 itself, 40000 with all that it waited for: 17000 are of nobody we saw.
  const auto end = tree.end(mono_now(), nanoseconds(3'000), nanoseconds(40'000));
  EXPECT_EQ(end.unseen, nanoseconds(17'000));
  ASSERT_EQ(end.samples.size(), 2U);
  EXPECT_EQ(find(end.samples, 10)->cpu, nanoseconds(3'000));
  EXPECT_EQ(find(end.samples, 12)->cpu, nanoseconds(500));
}

// Uses the CPU until the process's own clock says `time`; `extra_thread` has ended by then and is part of it.
void burn(Duration time, bool extra_thread) {
  volatile std::uint64_t work = 0;
  const auto until = [&](Duration limit) {
    while (nanoseconds(clock_ns(CLOCK_PROCESS_CPUTIME_ID)) < limit) work = work + 1;
  };
  if (extra_thread) std::thread(until, seconds(to_seconds(time) / 2)).join();
  until(time);
}

pid_t burner(Duration time, bool extra_thread) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  burn(time, extra_thread);
  while (true) pause();
}

TEST(ProcessTree, ARealTreeShowsItsShares) {
  const pid_t light = burner(milliseconds(50), false), heavy = burner(milliseconds(150), true);
  ProcessTree tree(getpid());
  const ProcessSample *a = nullptr, *b = nullptr;
  std::vector<ProcessSample> samples;
  ASSERT_TRUE(eventually([&] {
    samples = tree.scan(mono_now());
    a = find(samples, light);
    b = find(samples, heavy);
    return a && b && a->cpu >= milliseconds(50) && b->cpu >= milliseconds(150);
  }));
  EXPECT_TRUE(find(samples, getpid()));
  EXPECT_EQ(a->parent, getpid());
  EXPECT_NEAR(b->cpu / a->cpu, 3.0, 0.3);
  kill(light, SIGKILL);
  kill(heavy, SIGKILL);
  waitpid(light, nullptr, 0);
  waitpid(heavy, nullptr, 0);
  EXPECT_FALSE(find(tree.scan(mono_now()), light));
}

TEST(ProcessTree, TenThousandShortChildrenAreAllAccountedFor) {
  auto gate = SignalGate::open();
  ASSERT_TRUE(gate);
  auto child = Child::start({{"/bin/sh", "-c", "i=0; while [ $i -lt 10000 ]; do (:); i=$((i+1)); done"}, {}}, *gate);
  ASSERT_TRUE(child);
  ProcessTree tree(child->pid());
  std::map<ProcessId, Duration> last;
  const auto keep = [&](const std::vector<ProcessSample>& samples) {
    for (const ProcessSample& sample : samples) last[sample.id] = sample.cpu;
  };
  std::optional<ChildEnd> over;
  while (!over) {
    keep(tree.scan(mono_now()));
    const auto state = child->wait_until(mono_now() + milliseconds(200));
    ASSERT_TRUE(state);
    over = *state;
  }
  EXPECT_EQ(over->exit_code, 0);
  const auto end = tree.end(over->time, over->own_cpu, over->tree_cpu);
  keep(end.samples);
  Duration sum = end.unseen;
  for (const auto& [id, cpu] : last) sum += cpu;
  EXPECT_EQ(sum, over->tree_cpu);
  EXPECT_GT(end.unseen, milliseconds(10));
}

}  // namespace
}  // namespace joulery
