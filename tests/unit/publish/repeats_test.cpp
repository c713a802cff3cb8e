#include "publish/repeats.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/unit/publish/golden.h"
#include "tests/unit/publish/sample_reports.h"

namespace joulery {
namespace {

// 90, 100, 110: mean 100, deviation sqrt((100 + 0 + 100) / 2) = 10.
TEST(Repeats, MeanAndSampleDeviation) {
  const Repeats r = summarise(samples::three_runs());
  EXPECT_EQ(r.runs, 3);
  EXPECT_EQ(r.failed, 0);
  EXPECT_DOUBLE_EQ(*r.joules.mean, 100);
  EXPECT_DOUBLE_EQ(*r.joules.deviation, 10);
  EXPECT_DOUBLE_EQ(*r.joules.least, 90);
  EXPECT_DOUBLE_EQ(*r.joules.greatest, 110);
  ASSERT_EQ(r.components.size(), 2u);
  EXPECT_DOUBLE_EQ(*r.components[0].joules.mean, 90);
  EXPECT_DOUBLE_EQ(*r.components[1].joules.deviation, 0);
}

TEST(Repeats, AMissingFigureStaysOutAndIsCounted) {
  std::vector<Report> runs = samples::three_runs();
  runs[2].energy.joules.reset();
  runs[2].exit_code = 1;
  runs[2].components[1].quality = Quality::missing;
  const Repeats r = summarise(runs);
  EXPECT_EQ(r.failed, 1);
  EXPECT_EQ(r.joules.count, 2);
  EXPECT_EQ(r.joules.missing, 1);
  EXPECT_DOUBLE_EQ(*r.joules.mean, 95);
  EXPECT_EQ(r.components[1].joules.missing, 1);
}

TEST(Repeats, OneRunHasNoDeviationAndNoneHasNoMean) {
  const std::vector<Report> one = {samples::three_runs()[0]};
  EXPECT_FALSE(summarise(one).joules.deviation);
  EXPECT_FALSE(summarise({}).joules.mean);
}

TEST(Repeats, LookAsTheirGoldenFiles) {
  const auto runs = samples::three_runs();
  expect_golden("repeats.txt", repeats_text(runs, {}));
  expect_golden("repeats.json", repeats_json(runs));
  const std::vector<Report> mixed = {samples::gpu_run(), samples::partial(), samples::zero_length(), samples::failed()};
  expect_golden("repeats_mixed.txt", repeats_text(mixed, {}));
  expect_golden("repeats_mixed.json", repeats_json(mixed));
  EXPECT_EQ(nlohmann::json::parse(repeats_json(mixed))["runs"].size(), 4u);
}

}  // namespace
}  // namespace joulery
