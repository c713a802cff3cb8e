// The wall learnt from scripted recordings whose truth is known, and applied to others.
#include "judge/wall_fit.h"

#include <gtest/gtest.h>

#include "ledger/derived_wall.h"
#include "tests/unit/judge/scripted_run.h"

namespace joulery {
namespace {

using namespace joulery::testing;

constexpr double sigmas_90 = 1.645;

double cpu_watts(double t) { return 40 + 160 * restless_load(t + 100); }
double dram_watts(double t) { return 10 + 5 * restless_load(t + 2000); }
double parts_watts(double t) { return cpu_watts(t) + dram_watts(t); }

// The same noise at the same time, so that a meter is a function.
double noise_at(double t, double sigma, unsigned seed) {
  std::mt19937_64 random(static_cast<std::uint64_t>(std::llround((t + 10) * 1e4)) * 7919 + seed);
  return std::normal_distribution<double>(0, sigma)(random);
}

std::vector<ScriptedMeter> parts_meters() {
  return {{"rapl.powercap", "node/cpu/package-0", 0.1, [](double t) { return cpu_watts(t) + noise_at(t, 0.5, 1); }},
          {"rapl.powercap", "node/dram/package-0", 0.1, [](double t) { return dram_watts(t) + noise_at(t, 0.1, 2); }}};
}

ScriptedRun recorded_with_wall(std::function<double(double)> wall, double length = 180) {
  std::vector<ScriptedMeter> meters = parts_meters();
  meters.push_back({"plug", "wall", 0.1, std::move(wall)});
  return ScriptedRun(std::move(meters), length, 3);
}

// wall = 35 W + parts / 0.92, 1.7 s late, with noise of 3 W and now and then a wild reading.
double late_wall(double t) {
  const bool wild = static_cast<std::int64_t>(std::llround(t * 10)) % 97 == 0;
  return 35 + parts_watts(t - 1.7) / 0.92 + noise_at(t, 3, 3) + (wild ? 250 : 0);
}

TEST(WallFit, FindsTheFixedShareAndTheEfficiencyThroughDelayAndNoise) {
  ScriptedRun run = recorded_with_wall(late_wall);
  const auto learnt = fit_wall(run.record(), "run.joulery");
  ASSERT_TRUE(learnt) << learnt.error().line();
  ASSERT_TRUE(learnt->delay.delay) << learnt->delay.reason;
  EXPECT_NEAR(to_seconds(learnt->delay.delay->value), 1.7, 0.1);
  EXPECT_EQ(learnt->fit.count, 2u);
  // Wild readings enter the means of a few windows by 25 W: robust, not immune; hence 2 standard errors more.
  EXPECT_NEAR(learnt->model.coefficients[1], 1 / 0.92, (sigmas_90 + 2) * learnt->fit.standard_error(1));
  EXPECT_NEAR(learnt->model.coefficients[0], 35, (sigmas_90 + 2) * learnt->fit.standard_error(0));
  EXPECT_LT(learnt->fit.standard_error(1), 0.02);
  EXPECT_LT(learnt->model.stretch_error, 0.02);
  EXPECT_GE(learnt->model.meter_error, 0.01);  // and what sampling a moving power may miss
  EXPECT_LT(learnt->model.meter_error, 0.015);
  EXPECT_EQ(learnt->model.kind.inputs, (std::map<std::string, int>{{"node/cpu", 1}, {"node/dram", 1}}));
}

// In nine of ten worlds, more or less: the worlds are few.
TEST(WallFit, CoefficientsLieInTheirIntervals) {
  int slope = 0, fixed = 0;
  constexpr unsigned worlds = 20;
  for (unsigned seed = 100; seed < 100 + worlds; ++seed) {
    ScriptedRun run = recorded_with_wall([seed](double t) { return 35 + parts_watts(t - 1.7) / 0.92 + noise_at(t, 3, seed); });
    const auto learnt = fit_wall(run.record(), "run.joulery");
    ASSERT_TRUE(learnt) << learnt.error().line();
    slope += std::abs(learnt->model.coefficients[1] - 1 / 0.92) <= sigmas_90 * learnt->fit.standard_error(1);
    fixed += std::abs(learnt->model.coefficients[0] - 35) <= sigmas_90 * learnt->fit.standard_error(0);
  }
  EXPECT_GE(slope, 15);
  EXPECT_GE(fixed, 15);
}

TEST(WallFit, APowerSupplyThatBendsIsSeen) {
  ScriptedRun run = recorded_with_wall([](double t) {
    const double p = parts_watts(t - 0.3);
    return 30 + 1.02 * p + 1e-3 * p * p + noise_at(t, 0.5, 5);
  });
  const auto learnt = fit_wall(run.record(), "run.joulery");
  ASSERT_TRUE(learnt) << learnt.error().line();
  ASSERT_EQ(learnt->fit.count, 3u);
  EXPECT_NEAR(learnt->model.coefficients[2], 1e-3, 3 * learnt->fit.standard_error(2));
  EXPECT_NEAR(to_watts(learnt->model.at(watts(150))), 30 + 1.02 * 150 + 1e-3 * 150 * 150, 1);
}

TEST(WallFit, RefusesWhatTeachesNothing) {
  ScriptedRun none(parts_meters(), 60);
  EXPECT_EQ(fit_wall(none.record(), "a").error().code, ErrorCode::unsupported);
  ScriptedRun alone({{"plug", "wall", 0.1, late_wall}}, 60);
  EXPECT_EQ(fit_wall(alone.record(), "a").error().code, ErrorCode::unsupported);
  ScriptedRun flat(
      {{"plug", "wall", 0.1, [](double) { return 120.0; }}, {"rapl.powercap", "node/cpu/package-0", 0.1, [](double) { return 60.0; }}}, 60);
  EXPECT_NE(fit_wall(flat.record(), "a").error().what.find("hardly changes"), std::string::npos);
  ScriptedRun other = recorded_with_wall([](double t) { return 400 - 0.5 * parts_watts(t); });
  EXPECT_NE(fit_wall(other.record(), "a").error().what.find("cannot contain"), std::string::npos);
  ScriptedRun brief = recorded_with_wall(late_wall, 0.5);
  EXPECT_EQ(fit_wall(brief.record(), "a").error().code, ErrorCode::format);
}

// Learnt on one run, applied to another of the same machine whose true wall is known: 35 W + parts / 0.92.
TEST(DerivedWall, HoldsTheTruthOfARunWithoutAWallMeter) {
  ScriptedRun with = recorded_with_wall(late_wall);
  const auto learnt = fit_wall(with.record(), "run.joulery");
  ASSERT_TRUE(learnt);
  const auto load = [](double t) { return 60 + 120 * restless_load(t + 1500); };
  ScriptedRun without(
      {{"rapl.powercap", "node/cpu/package-0", 0.1, load}, {"rapl.powercap", "node/dram/package-0", 0.1, [](double) { return 12.0; }}}, 60);
  const WallInputs inputs = wall_inputs(without.ledger());
  EXPECT_EQ(kind_difference(learnt->model.kind, wall_kind(without.facts().machine, without.facts().kind, inputs.sorts)), "");
  DerivedWall wall = derive_wall(inputs, without.timeline(), without.ledger(), learnt->model);
  EXPECT_LT(wall.outside, 0.05);
  without.ledger().add_derived_wall(std::move(wall.times), std::move(wall.track), "a model learnt from run.joulery");
  const Report report = without.report();
  const ReportLayer* layer = layer_named(report, "wall");
  ASSERT_TRUE(layer && layer->joules);
  EXPECT_EQ(layer->quality, Quality::derived);
  EXPECT_EQ(layer->meter, "wall-model");
  double inside = 0;
  for (const ReportLayerPart& part : layer->parts) inside += to_joules(part.joules->value);
  const double truth = 35 * 60 + inside / 0.92;
  EXPECT_LE(to_joules(layer->joules->low), truth);
  EXPECT_GE(to_joules(layer->joules->high), truth);
  EXPECT_NEAR(to_joules(layer->joules->value), truth, truth * 0.02);
  EXPECT_LT(to_joules(layer->joules->high - layer->joules->low), truth * 0.1) << "an interval that says something";
  EXPECT_TRUE(report.delays.empty()) << "a derived wall follows its parts without delay";
  EXPECT_EQ(report.energy.boundary, "node");
}

// From 20 s to 30 s the memory is silent: no joule of the wall is made up for that time.
TEST(DerivedWall, IsLostWhereAPartIsLost) {
  ScriptedRun with = recorded_with_wall(late_wall);
  const auto learnt = fit_wall(with.record(), "run.joulery");
  ASSERT_TRUE(learnt);
  ScriptedRun holed({{"rapl.powercap", "node/cpu/package-0", 0.1, [](double) { return 100.0; }},
                     {"rapl.powercap", "node/dram/package-0", 0.1, [](double) { return 12.0; }, 0.01, 20, 30}},
                    60);
  const DerivedWall wall = derive_wall(wall_inputs(holed.ledger()), holed.timeline(), holed.ledger(), learnt->model);
  const Span all = wall.track.energy({script_time(0), script_time(60)}), hole = wall.track.energy({script_time(21), script_time(29)});
  ASSERT_TRUE(all.energy);
  EXPECT_TRUE(all.partial);
  EXPECT_NEAR(to_joules(all.energy->value), to_watts(learnt->model.at(watts(112))) * 49.8, 30);
  EXPECT_EQ(hole.energy->value, Energy{});
  ASSERT_EQ(wall.track.gaps().size(), 1u);
  EXPECT_TRUE(wall.track.gaps()[0].energy_lost);
}

TEST(DerivedWall, SaysHowMuchOfTheTimeLiesBeyondWhatWasLearnt) {
  ScriptedRun with = recorded_with_wall(late_wall);
  const auto learnt = fit_wall(with.record(), "run.joulery");
  ASSERT_TRUE(learnt);
  ScriptedRun hot({{"rapl.powercap", "node/cpu/package-0", 0.1, [](double t) { return t < 15 ? 100.0 : 500.0; }},
                   {"rapl.powercap", "node/dram/package-0", 0.1, [](double) { return 12.0; }}},
                  60);
  const DerivedWall wall = derive_wall(wall_inputs(hot.ledger()), hot.timeline(), hot.ledger(), learnt->model);
  EXPECT_NEAR(wall.outside, 46.0 / 62, 0.02);  // readings reach a second before and after the run
}

}  // namespace
}  // namespace joulery
