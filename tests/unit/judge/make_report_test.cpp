// A whole run by hand: a package at 20 W and a GPU at 100 W for 10 s, four steps of 1 s, three processes.
#include "judge/make_report.h"

#include <gtest/gtest.h>

#include "judge/kpi_gain.h"
#include "judge/label.h"
#include "judge/make_chart.h"
#include "record/memory_recording.h"

namespace joulery {
namespace {

constexpr std::int64_t origin = 50'000'000'000;
MonoTime at(double s) { return {origin + seconds(s).base_units()}; }

RecordedDevice device(std::string kind, std::string path, Measurand measurand, Behaviour behaviour, double unit) {
  Channel channel;
  channel.component = Component(path);
  channel.name = measurand == Measurand::busy_time ? "busy" : "energy";
  channel.measurand = measurand;
  channel.behaviour = behaviour;
  channel.unit = unit;
  channel.max_power = watts(measurand == Measurand::busy_time ? 0 : 400);
  return {std::move(kind), std::move(path), milliseconds(1000), {channel}};
}

class MakeReport : public testing::Test {
 protected:
  MakeReport()
      : recording_({device("rapl.powercap", "node/cpu/package-0", Measurand::energy, Behaviour::counter, 1e-6),
                    device("nvml", "node/gpu/0", Measurand::power, Behaviour::gauge, 1e-3),
                    device("cpu", "node/cpu", Measurand::busy_time, Behaviour::counter, 0.01)}) {
    for (int s = 0; s <= 10; ++s) {
      add(0, s, s * 20'000'000);  // 20 W
      add(1, s, 100'000);         // 100 W
      add(2, s, s * 100);         // one CPU of four
    }
    for (int i = 0; i < 4; ++i) {
      recording_.add(Mark{at(2 + 1.5 * i), 7, 7, MarkKind::step_begin, "step", 64});
      recording_.add(Mark{at(3 + 1.5 * i), 7, 7, MarkKind::step_end, "step", 0});
    }
    recording_.add(Mark{at(5), 7, 7, MarkKind::kpi, "accuracy", 0.5});
    recording_.add(ProcessSample{{7, 1}, 1, "python", at(10), seconds(8)});
    recording_.set({{"run_begin_ns", std::to_string(at(0).ns)}, {"run_end_ns", std::to_string(at(10).ns)}});
    facts_.command = {"train"};
    facts_.exit_code = 0;
    facts_.missing = {{Component("node/dram"), "no meter of the memory"}};
  }

  void add(std::size_t device, double s, std::int64_t raw) {
    const Reading reading{raw, MissingReason::none, at(s), at(s)};
    recording_.add(Round{device, at(s), std::span(&reading, 1)});
  }

  void mark(double s, const std::string& name, double value) { recording_.add(Mark{at(s), 7, 7, MarkKind::kpi, name, value}); }

  void settle() {
    timeline_.emplace(*Timeline::from(recording_, 4));
    ledger_.emplace(*timeline_, std::nullopt, Fill::automatic, facts_.missing);
    steps_ = collect_steps(*recording_.marks(), timeline_->run);
    processes_ = *recording_.processes();
  }
  RunRecord record() const { return {*timeline_, *ledger_, facts_, steps_, processes_, model_, WallTime{1'772'366'400'000'000'000}}; }
  Report report() {
    settle();
    return make_report(record());
  }

  MemoryRecording recording_;
  RunFacts facts_;
  std::optional<Timeline> timeline_;
  std::optional<Ledger> ledger_;
  Steps steps_;
  std::vector<ProcessSample> processes_;
  std::optional<PowerModel> model_;
};

TEST_F(MakeReport, TotalsAndShares) {
  const Report r = report();
  EXPECT_EQ(r.begin, "2026-03-01T12:00:00.000Z");
  EXPECT_EQ(r.energy.joules->value, joules(1200));
  EXPECT_EQ(r.energy.quality, Quality::integrated);  // the worst of its parts
  EXPECT_TRUE(r.energy.partial);
  EXPECT_EQ(r.energy.missing, std::vector<std::string>{"node/dram: no meter of the memory"});
  EXPECT_NEAR(*r.mean_watts, 120, 1e-9);
  EXPECT_NEAR(*r.peak_watts, 120, 1e-6);
  EXPECT_NEAR(*r.components[0].share, 1.0 / 6, 1e-12);
  EXPECT_NEAR(*r.components[1].share, 5.0 / 6, 1e-12);
  EXPECT_EQ(r.components[2].quality, Quality::missing);
  EXPECT_FALSE(r.components[2].joules);
}

TEST_F(MakeReport, PhasesSumToTheRun) {
  const Report r = report();
  ASSERT_EQ(r.phases.size(), 4u);
  EXPECT_EQ(r.phases[0].joules, joules(240));  // 2 s of start-up
  EXPECT_EQ(r.phases[1].joules, joules(480));  // 4 steps of 1 s
  EXPECT_EQ(r.phases[2].joules, joules(180));  // 3 pauses of 0.5 s
  EXPECT_EQ(r.phases[3].joules, joules(300));  // 2.5 s of tear-down
}

TEST_F(MakeReport, StepsWorkAndBusinessFigures) {
  const Report r = report();
  EXPECT_EQ(r.steps.count, 4);
  EXPECT_NEAR(*r.steps.joules_median, 120, 1e-6);
  EXPECT_NEAR(*r.steps.seconds_median, 1, 1e-9);
  ASSERT_EQ(r.work.size(), 1u);
  EXPECT_EQ(r.work[0].unit, "sample");
  EXPECT_EQ(r.work[0].count, 256);
  EXPECT_NEAR(*r.work[0].joules_per_unit, 1200.0 / 256, 1e-9);
  EXPECT_NEAR(*r.work[0].kwh_per_1000, 1200.0 / 256 * 1000 / 3.6e6, 1e-12);
  EXPECT_NEAR(*r.work[0].units_per_second_per_watt, 25.6 / 120, 1e-12);
  ASSERT_EQ(r.kpis.size(), 1u);
  EXPECT_NEAR(*r.kpis[0].joules_at_last, 600, 1e-6);
}

// 120 W: 240 J after 2 s, 960 J after 8 s.
TEST_F(MakeReport, WhatEachPointOfAccuracyCost) {
  mark(2, "accuracy", 0.3);
  mark(8, "accuracy", 0.7);
  mark(9, "accuracy", 0.6);
  mark(3, "val_loss", 4);
  mark(6, "val_loss", 1.5);
  mark(4, "once_loss", 2);
  mark(4, "dropping_f1", 0.5);
  mark(5, "dropping_f1", 0.4);
  mark(4, "temperature", 30);
  const Report r = report();
  const auto of = [&](const std::string& name) { return *std::ranges::find(r.kpis, name, &ReportKpi::name); };
  const ReportKpi accuracy = of("accuracy");
  EXPECT_EQ(accuracy.better, "more");
  EXPECT_EQ(accuracy.count, 4);
  EXPECT_EQ(accuracy.last, 0.6);
  EXPECT_EQ(*accuracy.best, 0.7);
  EXPECT_NEAR(*accuracy.joules_at_best, 960, 1e-6);
  EXPECT_NEAR(*accuracy.gained, 0.4, 1e-12);
  EXPECT_NEAR(*accuracy.joules_per_point, 720.0 / 40, 1e-6);  // hundredths
  ASSERT_EQ(accuracy.points.size(), 4u);
  EXPECT_NEAR(*accuracy.points[1].joules, 600, 1e-6);
  EXPECT_EQ(accuracy.points[2].time_s, 8);
  EXPECT_NEAR(*of("val_loss").joules_per_point, 360 / 2.5, 1e-6);  // whole points, downwards
  EXPECT_EQ(of("once_loss").gain_reason, "reported once only");
  EXPECT_FALSE(of("once_loss").joules_per_point);
  EXPECT_EQ(of("dropping_f1").gain_reason, "never better than at first");
  EXPECT_FALSE(of("temperature").best);
  EXPECT_NE(of("temperature").gain_reason.find("its name"), std::string::npos);
}

TEST_F(MakeReport, ManyValuesAreThinnedAndTheBestStays) {
  for (int i = 0; i < 5000; ++i) mark(1 + i * 0.001, "score", i == 1234 ? 9 : 5);
  const Report r = report();
  const ReportKpi kpi = *std::ranges::find(r.kpis, "score", &ReportKpi::name);
  EXPECT_EQ(kpi.count, 5000);
  EXPECT_LE(kpi.points.size(), most_kpi_points);
  EXPECT_GE(kpi.points.size(), most_kpi_points / 2);
  EXPECT_NEAR(kpi.points.front().time_s, 1, 1e-9);
  EXPECT_NEAR(kpi.points.back().time_s, 5.999, 1e-9);
  EXPECT_EQ(std::ranges::count(kpi.points, 9.0, &ReportKpiPoint::value), 1);
  EXPECT_TRUE(std::ranges::is_sorted(kpi.points, {}, &ReportKpiPoint::time_s));
}

TEST_F(MakeReport, ProcessesShareTheHostByCpuTimeAndNotTheAccelerators) {
  const Report r = report();
  ASSERT_EQ(r.processes.size(), 3u);
  EXPECT_EQ(r.processes[0].joules, joules(160));  // 8 of 10 busy CPU seconds, of 200 J
  EXPECT_EQ(r.processes[1].name, "other processes");
  EXPECT_EQ(r.processes[1].joules, joules(40));
  EXPECT_EQ(r.processes[2].joules, joules(1000));
}

TEST_F(MakeReport, MeasuredBaseline) {
  add(0, 11, 220'000'000);
  recording_.set({{"baseline_begin_ns", std::to_string(at(10).ns)}, {"baseline_end_ns", std::to_string(at(11).ns)}});
  const Report r = report();
  ASSERT_TRUE(r.baseline);
  EXPECT_NEAR(*r.baseline->watts, 20, 1e-9);
  EXPECT_TRUE(r.baseline->source.starts_with("measured"));
}

TEST_F(MakeReport, WithoutAnythingMeasuredNothingIsANumber) {
  MemoryRecording empty({});
  empty.set({{"run_begin_ns", std::to_string(at(0).ns)}, {"run_end_ns", std::to_string(at(10).ns)}});
  recording_ = empty;
  const Report r = report();
  EXPECT_FALSE(r.energy.joules);
  EXPECT_EQ(r.energy.quality, Quality::missing);
  EXPECT_TRUE(r.energy.partial);
  EXPECT_FALSE(r.mean_watts);
  EXPECT_FALSE(r.phases[0].joules);
  EXPECT_NE(r.phases[0].reason, "");
}

TEST_F(MakeReport, ChartHasHolesWhereNothingIsKnown) {
  add(1, 12, 0);
  settle();
  const Chart chart = make_chart(record(), 5, 10);
  ASSERT_EQ(chart.time.size(), 6u);
  ASSERT_EQ(chart.tracks.size(), 2u);  // what is missing has no track
  EXPECT_NEAR(chart.tracks[0].watts[0], 20, 1e-6);
  EXPECT_NEAR(chart.tracks[1].watts[4], 100, 1e-6);
}

TEST(Label, NamesForPeople) {
  EXPECT_EQ(label_of(Component("node/cpu/package-1")), "CPU package 1");
  EXPECT_EQ(label_of(Component("node/cpu/package-0/core")), "CPU package 0, core");
  EXPECT_EQ(label_of(Component("node/rest")), "rest of the node");
  EXPECT_EQ(label_of(Component("node/gpu/3")), "GPU 3");
}

}  // namespace
}  // namespace joulery
