// The layers of scripted machines: what each holds, what is left over, and how late a meter tells.
#include <gtest/gtest.h>

#include "judge/make_layers.h"
#include "tests/unit/judge/scripted_run.h"

namespace joulery {
namespace {

using namespace joulery::testing;

std::function<double(double)> constant(double watts) {
  return [watts](double) { return watts; };
}

void expect_sums(const Report& report) {
  for (const ReportLayer& layer : report.layers) {
    if (!layer.joules || !layer.residual.joules) continue;
    Energy sum = layer.residual.joules->value;
    for (const ReportLayerPart& part : layer.parts)
      if (part.joules) sum += part.joules->value;
    EXPECT_EQ(sum, layer.joules->value) << layer.name;
  }
}

// 120 W at the wall, 100 W by the node's meter, 60 + 10 W by its parts, for 10 s.
TEST(Layers, WallNodeAndPartsWithWhatEachLeaves) {
  ScriptedRun run({{"plug", "wall", 0.1, constant(120)},
                   {"hwmon", "node", 0.1, constant(100)},
                   {"rapl.powercap", "node/cpu/package-0", 0.1, constant(60)},
                   {"rapl.powercap", "node/dram/package-0", 0.1, constant(10)}},
                  10);
  const Report report = run.report();
  expect_sums(report);
  const ReportLayer* wall = layer_named(report, "wall");
  const ReportLayer* node = layer_named(report, "node");
  ASSERT_TRUE(wall && node && wall->joules && node->joules);
  EXPECT_EQ(wall->joules->value, joules(1200));
  ASSERT_EQ(wall->parts.size(), 1u);
  EXPECT_EQ(wall->parts[0].path, "node");
  EXPECT_EQ(wall->residual.joules->value, joules(200));
  EXPECT_NEAR(*wall->residual.share, 200.0 / 1200, 1e-12);
  EXPECT_NE(wall->residual.likely.find("power supply"), std::string::npos);
  EXPECT_EQ(node->joules->value, joules(1000));
  ASSERT_EQ(node->parts.size(), 2u);
  EXPECT_EQ(node->residual.joules->value, joules(300));
  EXPECT_NE(node->residual.likely.find("fans, board, storage, network"), std::string::npos);
  EXPECT_EQ(node->residual.likely.find("memory"), std::string::npos) << "the memory is measured";
  EXPECT_EQ(report.energy.boundary, "node");
  EXPECT_EQ(report.energy.joules->value, joules(1000));
}

// Each meter is good to 1 % and the readings' edges; meters are independent: the residual's half width is near
// sqrt(12² + 10²) = 15.6 J.
TEST(Layers, TheResidualHasTheErrorsOfBothSides) {
  ScriptedRun run({{"plug", "wall", 0.1, constant(120)}, {"hwmon", "node", 0.1, constant(100)}}, 10);
  const Report report = run.report();
  const Estimate left = *layer_named(report, "wall")->residual.joules;
  EXPECT_NEAR(to_joules(left.high - left.value), std::hypot(12.0, 10.0), 0.1);
  EXPECT_NEAR(to_joules(left.value - left.low), std::hypot(12.0, 10.0), 0.1);
}

TEST(Layers, MetersThatDisagreeKeepTheirSign) {
  ScriptedRun run({{"plug", "wall", 0.1, constant(90)}, {"hwmon", "node", 0.1, constant(100)}}, 10);
  const Report report = run.report();
  const ReportResidual& left = layer_named(report, "wall")->residual;
  EXPECT_EQ(left.joules->value, joules(-100));
  EXPECT_LT(*left.share, 0);
  EXPECT_NE(left.reason.find("disagree"), std::string::npos) << left.reason;
  ASSERT_EQ(report.flags.size(), 1u);
  EXPECT_TRUE(report.flags[0].starts_with("parts-exceed-whole: wall"));
  expect_sums(report);
}

TEST(Layers, ASmallNegativeResidualIsWithinTheErrors) {
  ScriptedRun run({{"plug", "wall", 0.1, constant(99.5)}, {"hwmon", "node", 0.1, constant(100)}}, 10);
  const ReportResidual left = layer_named(run.report(), "wall")->residual;
  EXPECT_EQ(left.joules->value, joules(-5));
  EXPECT_NE(left.reason.find("their errors allow"), std::string::npos) << left.reason;
}

TEST(Layers, PartsThatReadMoreThanTheNodeAreNotCutDown) {
  ScriptedRun run({{"hwmon", "node", 0.1, constant(50)}, {"rapl.powercap", "node/cpu/package-0", 0.1, constant(60)}}, 10);
  const Report report = run.report();
  const ReportLayer* node = layer_named(report, "node");
  EXPECT_EQ(node->joules->value, joules(500));
  EXPECT_EQ(node->residual.joules->value, joules(-100));
  expect_sums(report);
}

TEST(Layers, MissingLayersHaveTheirReasonAndNoNumber) {
  ScriptedRun run({{"rapl.powercap", "node/cpu/package-0", 0.1, constant(60)}}, 10);
  const Report report = run.report();
  for (const char* name : {"wall", "node"}) {
    const ReportLayer* layer = layer_named(report, name);
    ASSERT_TRUE(layer);
    EXPECT_FALSE(layer->joules);
    EXPECT_EQ(layer->quality, Quality::missing);
    EXPECT_NE(layer->reason, "");
    EXPECT_FALSE(layer->residual.joules);
    EXPECT_NE(layer->residual.reason, "");
  }
  EXPECT_TRUE(report.delays.empty());
}

TEST(Layers, AWallWithoutANodeMeterHoldsThePartsThemselves) {
  ScriptedRun run({{"plug", "wall", 0.1, constant(120)}, {"rapl.powercap", "node/cpu/package-0", 0.1, constant(60)}}, 10);
  const Report report = run.report();
  const ReportLayer* wall = layer_named(report, "wall");
  ASSERT_EQ(wall->parts.size(), 1u);
  EXPECT_EQ(wall->parts[0].path, "node/cpu/package-0");
  EXPECT_EQ(wall->residual.joules->value, joules(600));
  EXPECT_NE(wall->residual.likely.find("memory"), std::string::npos);
  expect_sums(report);
}

TEST(Layers, OnlyAWallIsTheBoundaryAndSaysSo) {
  ScriptedRun run({{"plug", "wall", 0.1, constant(120)}}, 10);
  const Report report = run.report();
  EXPECT_EQ(report.energy.boundary, "wall");
  EXPECT_EQ(report.energy.joules->value, joules(1200));
  EXPECT_FALSE(report.energy.partial);
  ASSERT_EQ(report.delays.size(), 1u);
  EXPECT_FALSE(report.delays[0].milliseconds);
  EXPECT_NE(report.delays[0].reason, "");
}

// The wall tells 1.7 s late. With the load rising at the end, unaligned sums would miss what the wall still owes.
TEST(Layers, AreAlignedByTheMetersOwnDelay) {
  const auto parts = [](double t) { return 100 + 200 * restless_load(t + 30); };
  ScriptedRun run(
      {{"plug", "wall", 0.1, [&](double t) { return 30 + parts(t - 1.7) / 0.9; }}, {"rapl.powercap", "node/cpu/package-0", 0.1, parts}},
      60);
  const Report report = run.report();
  ASSERT_EQ(report.delays.size(), 1u);
  ASSERT_TRUE(report.delays[0].milliseconds) << report.delays[0].reason;
  EXPECT_NEAR(*report.delays[0].milliseconds, 1700, 100);
  EXPECT_EQ(report.delays[0].reference, "rapl.powercap");
  const ReportLayer* wall = layer_named(report, "wall");
  // Readings go on for 1 s after the run: the last 0.7 s have none of the wall's.
  EXPECT_EQ(wall->begin_s, 0);
  EXPECT_NEAR(wall->end_s, 59.3, 0.1);
  const double inside = to_joules(wall->parts[0].joules->value);
  const double expected = 30 * wall->end_s + inside / 0.9;
  EXPECT_NEAR(to_joules(wall->joules->value), expected, expected * 0.002);
  expect_sums(report);
}

// 100 W inside and 150 W at the wall, of which the last 0.7 s are told too late: by hand, 59.3 s · 150 W + 0.7 s · 150 W.
TEST(Layers, TheWallOfTheWholeRunHoldsTheTimeThatWasToldTooLate) {
  Report report;
  report.duration_s = 60;
  report.energy.joules = Estimate{joules(6000), joules(5940), joules(6060)};
  ReportLayer wall{"wall", "wall", Estimate{joules(8895), joules(8800), joules(8990)}, Quality::integrated, "plug", "", 0, 59.3, {}, {}};
  wall.parts = {{"node", "node", Estimate{joules(5930), joules(5900), joules(5960)}, 0.66, Quality::integrated, "hwmon", ""}};
  report.layers = {wall};
  const auto whole = energy_at_wall(report);
  ASSERT_TRUE(whole);
  EXPECT_NEAR(to_joules(whole->value), 9000, 1e-5);
  EXPECT_NEAR(to_joules(whole->high - whole->value), std::hypot(95 * 9000.0 / 8895, 35), 1e-3);
  report.layers[0].partial = true;
  EXPECT_FALSE(energy_at_wall(report)) << "a part of the wall would be less than what it feeds";
  report.layers[0].partial = false;
  report.layers[0].quality = Quality::derived;
  EXPECT_FALSE(energy_at_wall(report)) << "grams rest on what was measured";
}

// A thousand readings a second, of which a few thousand cover a few seconds only: the delay is found all the same.
TEST(Layers, DenseReadingsTellALongDelayToo) {
  const auto parts = [](double t) { return 100 + 200 * restless_load(t + 30); };
  ScriptedRun run(
      {{"plug", "wall", 0.002, [&](double t) { return 30 + parts(t - 3.2) / 0.9; }}, {"rapl.powercap", "node/cpu/package-0", 0.002, parts}},
      90);
  const Report report = run.report();
  ASSERT_TRUE(report.delays[0].milliseconds) << report.delays[0].reason;
  EXPECT_NEAR(*report.delays[0].milliseconds, 3200, 22);  // one step: 90 s in 4096
}

// A plug that answers once a second beside parts that are read ten times as often.
TEST(Layers, ASlowMetersDelayIsFoundWithinOneOfItsReadings) {
  const auto parts = [](double t) { return 100 + 200 * restless_load(t + 30); };
  ScriptedRun run(
      {{"plug", "wall", 1.0, [&](double t) { return 30 + parts(t - 1.7) / 0.9; }}, {"rapl.powercap", "node/cpu/package-0", 0.1, parts}},
      300);
  const Report report = run.report();
  ASSERT_TRUE(report.delays[0].milliseconds) << report.delays[0].reason;
  EXPECT_NEAR(*report.delays[0].milliseconds, 1700, 500);
  EXPECT_LE(*report.delays[0].low, 1700);
  EXPECT_GE(*report.delays[0].high, 1700);
}

// A part that is not known is in the residual, which says nothing false: the layer's part has its reason.
TEST(Layers, APartThatFallsSilentIsPartialAndTheSumsHold) {
  ScriptedRun run({{"plug", "wall", 0.1, constant(120)}, {"rapl.powercap", "node/cpu/package-0", 0.1, constant(60), 0.01, 4, 6}}, 10);
  const Report report = run.report();
  expect_sums(report);
  EXPECT_NE(layer_named(report, "wall")->parts[0].reason, "");
}

TEST(Layers, AFlatLoadGivesNoDelayAndLeavesTheTimeAlone) {
  ScriptedRun run({{"plug", "wall", 0.1, constant(120)}, {"hwmon", "node", 0.1, constant(100)}}, 20);
  const Report report = run.report();
  ASSERT_EQ(report.delays.size(), 2u);
  for (const ReportDelay& delay : report.delays) {
    EXPECT_FALSE(delay.milliseconds);
    EXPECT_NE(delay.reason, "");
  }
  EXPECT_EQ(layer_named(report, "wall")->begin_s, 0);
  EXPECT_EQ(layer_named(report, "wall")->end_s, 20);
}

TEST(Layers, WorkloadsSumToWhatIsCounted) {
  ScriptedRun run({{"rapl.powercap", "node/cpu/package-0", 0.1, constant(60)}}, 10);
  run.processes() = {{{7, 1}, 1, "python", script_time(10), seconds(8)}};
  const Report report = run.report();
  const ReportLayer* work = layer_named(report, "workloads");
  ASSERT_TRUE(work && work->joules);
  EXPECT_EQ(work->joules->value, report.energy.joules->value);
  expect_sums(report);
}

TEST(Layers, TheRefusedWallModelSaysWhy) {
  ScriptedRun run({{"rapl.powercap", "node/cpu/package-0", 0.1, constant(60)}}, 10);
  const Report report = run.report("learnt on another kind of machine: processor A there, B here");
  EXPECT_NE(layer_named(report, "wall")->reason.find("processor A there, B here"), std::string::npos);
}

}  // namespace
}  // namespace joulery
