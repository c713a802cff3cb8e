#include "watch/short_lived.h"

#include <gtest/gtest.h>

#include "tests/unit/watch/machine_tree.h"

namespace joulery {
namespace {

CpuUse use(std::int32_t pid, std::int32_t parent, const std::string& name, double ms, bool ended = false, std::int64_t start = 500) {
  CpuUse use;
  use.id = {pid, start};
  use.parent = parent;
  use.name = name;
  use.cpu = seconds(ms / 1000);
  use.ended = ended;
  return use;
}

CpuUses uses(std::vector<CpuUse> processes) { return {{}, std::move(processes), {}, {}, 0}; }

class ShortLivedChildren : public testing::Test {
 protected:
  ShortLivedChildren() { tree.put({10, 100, 5'000'000, "make"}); }
  MachineTree tree;
};

TEST_F(ShortLivedChildren, AreAddedUpByNameEachOnce) {
  ProcessTree scanned(10, tree.root());
  scanned.scan({1});
  ShortLived found(10, 200);
  // A grandchild stands before its parent; a stranger's child is none of ours; the last moments come with the next look.
  found.take(uses({use(21, 20, "cc1", 3, true), use(20, 10, "gcc", 1, true), use(30, 1, "sshd", 9), use(31, 30, "sh", 9, true),
                   use(10, 1, "make", 2, false, 100)}),
             scanned);
  found.take(uses({use(21, 20, "cc1", 0.5, true), use(22, 10, "cc1", 4, true)}), scanned);
  found.take(uses({use(20, 30, "pid-again", 7, true, 900)}), scanned);
  found.finish(scanned);
  EXPECT_EQ(found.by_name(9), (std::vector<ShortLivedSum>{{"cc1", 2, seconds(0.0075)}, {"gcc", 1, milliseconds(1)}}));
  EXPECT_EQ(found.by_name(1).size(), 1U);
}

TEST_F(ShortLivedChildren, ThatAScanSawAreMadeWholeInTheTree) {
  tree.put({20, 300, 40'000'000, "seen", 10});
  tree.write("proc/10/task/10/children", "20 \n");
  ProcessTree scanned(10, tree.root());
  EXPECT_EQ(scanned.scan({1}).size(), 2U);
  tree.end(20);
  ShortLived found(10, 200);
  found.take(uses({use(20, 10, "seen", 70, true, 300)}), scanned);
  found.finish(scanned);
  EXPECT_TRUE(found.by_name(9).empty());
  tree.end(10);
  const auto end = scanned.end({2}, milliseconds(5), milliseconds(80));
  std::map<std::int32_t, Duration> cpu;
  for (const ProcessSample& sample : end.samples) cpu[sample.id.pid] = sample.cpu;
  EXPECT_EQ(cpu, (std::map<std::int32_t, Duration>{{10, milliseconds(5)}, {20, milliseconds(70)}}));
  EXPECT_EQ(end.unseen, milliseconds(5));  // 80 less 5 and 70
}

// A shell that sleeps while its children work is told by nobody but the scans.
TEST_F(ShortLivedChildren, OfAParentThatSleepsAreFound) {
  tree.put({20, 150, 1'000'000, "sh", 10});
  tree.write("proc/10/task/10/children", "20 \n");
  ProcessTree scanned(10, tree.root());
  scanned.scan({1});
  ShortLived found(10, 200);
  found.take(uses({use(40, 20, "cc1", 3, true)}), scanned);
  found.finish(scanned);
  EXPECT_EQ(found.by_name(9), (std::vector<ShortLivedSum>{{"cc1", 1, seconds(0.003)}}));
}

TEST_F(ShortLivedChildren, ThatBeganBeforeTheAccountKeepWhatWasSeen) {
  tree.put({20, 150, 40'000'000, "old", 10});
  tree.write("proc/10/task/10/children", "20 \n");
  ProcessTree scanned(10, tree.root());
  scanned.scan({1});
  tree.end(20);
  ShortLived found(10, 200);
  found.take(uses({use(20, 10, "old", 70, true, 150)}), scanned);
  found.finish(scanned);
  EXPECT_EQ(scanned.seen_so_far(), milliseconds(45));
}

// 25 ticks that the kernel added up for the command's children; 4 of them are of one that was seen.
TEST_F(ShortLivedChildren, AreNoticedByWhatTheKernelAddsUp) {
  tree.put({20, 300, 40'000'000, "seen", 10});
  tree.write("proc/10/task/10/children", "20 \n");
  ProcessTree scanned(10, tree.root());
  scanned.scan({1});
  EXPECT_EQ(scanned.unseen_so_far(), Duration{});
  tree.end(20);
  tree.write("proc/10/task/10/children", "\n");
  tree.write("proc/10/stat", "10 (make) S 1 1 1 0 -1 0 0 0 0 0 0 0 20 5 20 0 1 0 100 0 0\n");
  scanned.scan({2});
  EXPECT_EQ(scanned.unseen_so_far(), seconds(25.0 / static_cast<double>(sysconf(_SC_CLK_TCK))) - milliseconds(40));
}

}  // namespace
}  // namespace joulery
