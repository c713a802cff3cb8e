// A program that measures itself, on a machine of files whose counters the test moves.
#include "app/session.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tests/unit/sense/tree.h"

namespace joulery {
namespace {

using testing::Tree;

// The interval is so long that only the first and the last reading happen.
constexpr Duration once = milliseconds(3'600'000);

const ReportComponent* find(const Report& report, const std::string& path) {
  for (const ReportComponent& line : report.components)
    if (line.path == path) return &line;
  return nullptr;
}

TEST(Session, CountsWhatTheCountersMovedBetweenBeginAndEnd) {
  Tree tree;
  tree.zone("intel-rapl:0", "package-0", 5'000'000).zone("intel-rapl:0:0", "dram", 1'000'000);
  auto session = Session::start(tree.machine(), once, "train");
  ASSERT_TRUE(session);
  // 12.5 J in no time would be more than a package can burn; and what is left out must be little of it on a busy machine too.
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  tree.zone("intel-rapl:0", "package-0", 17'500'000).zone("intel-rapl:0:0", "dram", 1'250'000);
  const auto report = (*session)->stop();
  ASSERT_TRUE(report);
  ASSERT_TRUE(report->energy.joules);
  EXPECT_EQ(report->energy.quality, Quality::measured);
  ASSERT_NE(find(*report, "node/cpu/package-0"), nullptr);
  // Half-open in time: the first reading ends before the session begins, the last begins after it ended, so that at most
  // what fell between them and the session is left out.
  EXPECT_NEAR(to_joules(find(*report, "node/cpu/package-0")->joules->value), 12.5, 1.25);
  EXPECT_NEAR(to_joules(find(*report, "node/dram/package-0")->joules->value), 0.25, 0.025);
  EXPECT_EQ(report->command, std::vector<std::string>{"train"});
  EXPECT_TRUE(report->energy.partial) << "the rest of the node has no meter here";
}

TEST(Session, AMachineWithoutMetersHasReasonsAndNoNumbers) {
  Tree tree;
  tree.file("/proc/stat", "cpu  0 0 0 0 0 0 0 0 0 0\n");
  auto session = Session::start(tree.machine(), once, "train");
  ASSERT_TRUE(session);
  const auto report = (*session)->stop();
  ASSERT_TRUE(report);
  EXPECT_FALSE(report->energy.joules);
  EXPECT_EQ(report->energy.quality, Quality::missing);
  EXPECT_FALSE(report->energy.missing.empty());
}

TEST(Session, TheIntervalHasLimits) {
  Tree tree;
  EXPECT_EQ(Session::start(tree.machine(), nanoseconds(999'999), "x").error().code, ErrorCode::usage);
  EXPECT_EQ(Session::start(tree.machine(), milliseconds(3'600'001), "x").error().code, ErrorCode::usage);
}

TEST(Session, IsToldFromItsCopyInAForkedChild) {
  Tree tree;
  auto session = Session::start(tree.machine(), once, "train");
  ASSERT_TRUE(session);
  EXPECT_TRUE((*session)->belongs_here());
  const pid_t child = fork();
  if (child == 0) _exit((*session)->belongs_here() ? 1 : 0);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace joulery
