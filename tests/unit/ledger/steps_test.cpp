#include "ledger/steps.h"

#include <gtest/gtest.h>

namespace joulery {
namespace {

constexpr std::int64_t ms = 1'000'000;

Mark mark(std::int64_t at_ms, MarkKind kind, std::string name = "step", double value = 0, std::int32_t tid = 1) {
  return {{at_ms * ms}, 10, tid, kind, std::move(name), value};
}

const Interval run{{0}, {1000 * ms}};

TEST(Steps, BeginsAndEndsPairUpAndTheirWorkAdds) {
  const std::vector<Mark> marks{mark(100, MarkKind::step_begin, "step", 64), mark(200, MarkKind::step_end),
                                mark(300, MarkKind::step_begin, "step", 32), mark(400, MarkKind::step_end)};
  const Steps steps = collect_steps(marks, run);
  ASSERT_EQ(steps.steps.size(), 2u);
  EXPECT_EQ(steps.steps[1].when, (Interval{{300 * ms}, {400 * ms}}));
  ASSERT_EQ(steps.work.size(), 1u);
  EXPECT_EQ(steps.work[0].unit, "sample");
  EXPECT_EQ(steps.work[0].count, 96);
}

TEST(Steps, AStepThatNeverEndsIsNotCounted) {
  const std::vector<Mark> marks{mark(100, MarkKind::step_begin), mark(200, MarkKind::step_end), mark(300, MarkKind::step_begin)};
  EXPECT_EQ(collect_steps(marks, run).steps.size(), 1u);
}

TEST(Steps, NestedStepsCountOnceByTheirOutermost) {
  const std::vector<Mark> marks{mark(100, MarkKind::step_begin, "step", 8), mark(120, MarkKind::step_begin, "token", 5),
                                mark(150, MarkKind::step_end, "token"), mark(200, MarkKind::step_end)};
  const Steps steps = collect_steps(marks, run);
  ASSERT_EQ(steps.steps.size(), 1u);
  ASSERT_EQ(steps.work.size(), 2u);
  EXPECT_EQ(steps.work[0].unit, "sample");
  EXPECT_EQ(steps.work[1].unit, "token");
}

TEST(Steps, ThreadsDoNotCloseEachOthersSteps) {
  const std::vector<Mark> marks{mark(100, MarkKind::step_begin, "step", 1, 1), mark(150, MarkKind::step_begin, "step", 1, 2),
                                mark(200, MarkKind::step_end, "step", 0, 1), mark(300, MarkKind::step_end, "step", 0, 2)};
  const Steps steps = collect_steps(marks, run);
  ASSERT_EQ(steps.steps.size(), 2u);
  EXPECT_EQ(steps.steps[0].when.end.ns, 200 * ms);
  EXPECT_EQ(steps.steps[1].when.end.ns, 300 * ms);
}

TEST(Steps, TheLastValueOfABusinessFigureIsKept) {
  const std::vector<Mark> marks{mark(100, MarkKind::kpi, "accuracy", 0.5), mark(900, MarkKind::kpi, "accuracy", 0.93)};
  const Steps steps = collect_steps(marks, run);
  ASSERT_EQ(steps.kpis.size(), 1u);
  EXPECT_EQ(steps.kpis[0].last, 0.93);
  EXPECT_EQ(steps.kpis[0].at.ns, 900 * ms);
}

Duration length_of(const std::vector<Phase>& phases) {
  Duration sum;
  for (const Phase& phase : phases)
    for (const Interval& piece : phase.pieces) sum += piece.length();
  return sum;
}

TEST(Phases, CoverTheRunExactlyOnce) {
  // Two ranks whose steps overlap: 100 to 300 together, then 400 to 500.
  const std::vector<Step> steps{{{{100 * ms}, {250 * ms}}, "step"}, {{{200 * ms}, {300 * ms}}, "step"}, {{{400 * ms}, {500 * ms}}, "step"}};
  const std::vector<Phase> phases = phases_of(steps, run);
  ASSERT_EQ(phases.size(), 4u);
  EXPECT_EQ(phases[0].pieces, (std::vector<Interval>{{{0}, {100 * ms}}}));
  EXPECT_EQ(phases[1].pieces, (std::vector<Interval>{{{100 * ms}, {300 * ms}}, {{400 * ms}, {500 * ms}}}));
  EXPECT_EQ(phases[2].pieces, (std::vector<Interval>{{{300 * ms}, {400 * ms}}}));
  EXPECT_EQ(phases[3].pieces, (std::vector<Interval>{{{500 * ms}, {1000 * ms}}}));
  EXPECT_EQ(length_of(phases), run.length());
}

TEST(Phases, WithoutStepsThereIsOne) {
  const std::vector<Phase> phases = phases_of({}, run);
  ASSERT_EQ(phases.size(), 1u);
  EXPECT_EQ(phases[0].name, "run");
  EXPECT_EQ(phases[0].pieces, (std::vector<Interval>{run}));
}

}  // namespace
}  // namespace joulery
