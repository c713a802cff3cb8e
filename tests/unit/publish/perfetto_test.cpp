#include "publish/perfetto.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/unit/publish/golden.h"
#include "tests/unit/publish/sample_reports.h"

namespace joulery {
namespace {

using Json = nlohmann::json;

std::string report_perfetto(const Report& report, const Chart& chart) {
  std::string trace;
  EXPECT_TRUE(write_perfetto(report, chart, [&](const std::string& piece) {
    trace += piece;
    return true;
  }));
  return trace;
}

std::vector<Json> events(const std::string& trace, const std::string& phase) {
  std::vector<Json> found;
  const Json parsed = Json::parse(trace);
  for (const Json& e : parsed["traceEvents"])
    if (e["ph"] == phase) found.push_back(e);
  return found;
}

// On each track any two slices nest or do not meet.
void expect_nesting(const std::string& trace) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::pair<double, double>>> tracks;
  for (const Json& e : events(trace, "X"))
    tracks[{e["pid"], e["tid"]}].emplace_back(e["ts"].get<double>(), e["ts"].get<double>() + e["dur"].get<double>());
  for (const auto& [track, slices] : tracks)
    for (std::size_t i = 0; i < slices.size(); ++i)
      for (std::size_t j = i + 1; j < slices.size() && j < i + 50; ++j) {
        const auto [a0, a1] = slices[i];
        const auto [b0, b1] = slices[j];
        const double eps = 1e-3;  // a nanosecond, lost in the sum of two doubles
        EXPECT_TRUE(a1 <= b0 + eps || b1 <= a0 + eps || (a0 <= b0 + eps && b1 <= a1 + eps) || (b0 <= a0 + eps && a1 <= b1 + eps))
            << a0 << ".." << a1 << " crosses " << b0 << ".." << b1;
      }
}

TEST(Perfetto, LooksAsItsGoldenFile) {
  expect_golden("partial.perfetto-trace.txt", report_perfetto(samples::partial(), samples::partial_chart()));
}

TEST(Perfetto, CountersSlicesAndNames) {
  const std::string trace = report_perfetto(samples::gpu_run(), samples::gpu_chart());
  EXPECT_EQ(events(trace, "C").size(), 5u * 125u);
  EXPECT_EQ(events(trace, "X").size(), 3u + 14u);
  EXPECT_EQ(events(trace, "i").size(), 1u);
  const Json first = events(trace, "C")[1];
  EXPECT_EQ(first["name"], "power GPU 0");
  EXPECT_EQ(first["ts"], 1'000'000);  // the second slot begins at 1 s
  EXPECT_EQ(first["args"]["W"], 25);
  std::vector<std::string> names;
  for (const Json& e : events(trace, "M"))
    if (e["name"] == "process_name") names.push_back(e["args"]["name"]);
  EXPECT_EQ(names[0], "joulery: python train.py --epochs 3");
  EXPECT_EQ(names[1], "python");
  expect_nesting(trace);
}

TEST(Perfetto, TimeStampsKeepTheNanosecond) {
  PerfettoTrace trace;
  EXPECT_NE(trace.counter("CPU", nanoseconds(9'007'199'254'740'993), 1.5).find("\"ts\":9007199254740.993,"), std::string::npos);
}

TEST(Perfetto, TheUnknownIsASliceAndNeverAValue) {
  Chart chart;
  chart.time = {0, 1, 2, 3, 4};
  chart.tracks = {{"node/cpu", "CPU", Quality::measured, false, {10, std::nan(""), std::nan(""), 20}}};
  const std::string trace = report_perfetto({}, chart);
  EXPECT_EQ(events(trace, "C").size(), 2u);
  const auto slices = events(trace, "X");
  ASSERT_EQ(slices.size(), 1u);
  EXPECT_EQ(slices[0]["name"], "no reading");
  EXPECT_EQ(slices[0]["ts"], 1'000'000);
  EXPECT_EQ(slices[0]["dur"], 2'000'000);
}

TEST(Perfetto, StepsThatCrossGetLanesOfTheirOwn) {
  std::mt19937 random(11);
  Chart chart;
  for (int i = 0; i < 300; ++i) {
    const double begin = static_cast<double>(random() % 1000) / 10;
    chart.bands.push_back({"step", "step", begin, begin + static_cast<double>(random() % 100) / 10, i % 3 + 1});
  }
  const std::string trace = report_perfetto({}, chart);
  EXPECT_EQ(events(trace, "X").size(), 300u);
  expect_nesting(trace);
}

TEST(Perfetto, StopsWhereNothingCanBeWritten) {
  int pieces = 0;
  EXPECT_FALSE(write_perfetto(samples::gpu_run(), samples::gpu_chart(), [&](const std::string&) { return ++pieces < 10; }));
  EXPECT_EQ(pieces, 10);
}

TEST(Perfetto, OddNamesStayJson) { EXPECT_FALSE(events(report_perfetto(samples::weird_names(), {}), "M").empty()); }

}  // namespace
}  // namespace joulery
