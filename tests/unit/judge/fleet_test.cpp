#include "judge/fleet.h"

#include <gtest/gtest.h>

namespace joulery {
namespace {

using Samples = std::vector<CounterSample>;

// Worked out by hand: differences, and after a fall what the counter shows.
TEST(RiseOf, FollowsACounterThroughItsRestarts) {
  EXPECT_EQ(rise_of(10.0, Samples{{1, 12.5}, {2, 12.5}, {3, 20}}), 10'000'000);
  EXPECT_EQ(rise_of(10.0, Samples{{1, 15}, {2, 2}, {3, 3.25}}), 5'000'000 + 3'250'000);
  EXPECT_EQ(rise_of(10.0, Samples{{1, 4}}), 4'000'000);  // it fell before the first sample
  EXPECT_EQ(rise_of(std::nullopt, Samples{{1, 7}}), 7'000'000);
  EXPECT_EQ(rise_of(10.0, {}), 0);
  EXPECT_EQ(rise_of(0.1, Samples{{1, 0.3}}), 200'000);  // not 0.19999999999999998
}

SeriesRise component(const char* node, const char* name, std::int64_t micro, const char* quality = "measured") {
  return {{{"instance", node}, {"component", name}, {"quality", quality}, {"team", *node == 'a' ? "x" : "y"}}, micro};
}

SeriesRise consumer(const char* node, const char* part, const char* kind, const char* name, std::int64_t micro) {
  SeriesRise series{{{"instance", node}, {"component", part}, {"kind", kind}, {"team", *node == 'a' ? "x" : "y"}}, micro};
  if (*name) series.labels["name"] = name;
  return series;
}

// Two nodes. On a1 a job used 50 of 100 and ended: "(other)" took 45 of it over, so that its own rise is no energy of this time.
FleetFacts facts() {
  FleetFacts facts;
  facts.from = WallTime{0};
  facts.to = WallTime{100'000'000'000};
  facts.components = {component("a1", "cpu", 60), component("a1", "cpu", 40, "estimated"), component("b1", "cpu", 300),
                      component("b1", "gpu", 500)};
  facts.kinds["idle"] = {consumer("a1", "cpu", "idle", "", 20), consumer("b1", "cpu", "idle", "", 100)};
  facts.kinds["unattributed"] = {consumer("a1", "cpu", "unattributed", "", 5)};
  facts.kinds["job"] = {consumer("a1", "cpu", "job", "train", 50), consumer("a1", "cpu", "job", "(other)", 70),
                        consumer("b1", "cpu", "job", "train", 150), consumer("b1", "gpu", "job", "train", 500),
                        consumer("b1", "cpu", "job", "(none)", 50)};
  return facts;
}

const FleetRow* row(const FleetReport& report, const std::vector<std::string>& names) {
  for (const FleetRow& one : report.rows)
    if (one.names == names && !one.idle && !one.unattributed) return &one;
  return nullptr;
}

Energy sum_of(const FleetReport& report) {
  Energy sum;
  for (const FleetRow& one : report.rows) sum += one.energy;
  return sum;
}

TEST(FleetReport, ByNodeAndByTeam) {
  const FleetReport nodes = make_fleet_report(facts(), {"instance", "", {"instance"}});
  EXPECT_EQ(nodes.total.energy, microjoules(900));
  EXPECT_EQ(nodes.total.nodes, 2u);
  ASSERT_EQ(nodes.rows.size(), 2u);
  EXPECT_EQ(nodes.rows[0].names, (std::vector<std::string>{"b1"}));  // the greatest first
  EXPECT_EQ(nodes.rows[1].by_quality.at(Quality::estimated), microjoules(40));
  EXPECT_EQ(nodes.idle, microjoules(120));
  EXPECT_EQ(nodes.unattributed, microjoules(5));
  const FleetReport teams = make_fleet_report(facts(), {"instance", "", {"team", "component"}});
  EXPECT_EQ(row(teams, {"y", "gpu"})->energy, microjoules(500));
  EXPECT_EQ(sum_of(teams), microjoules(900));
}

TEST(FleetReport, OfAKindOtherIsWhatIsLeftAndAllSumToTheWhole) {
  const FleetReport report = make_fleet_report(facts(), {"instance", "job", {"name"}});
  EXPECT_EQ(row(report, {"train"})->energy, microjoules(700));
  EXPECT_EQ(row(report, {"train"})->nodes, 2u);
  EXPECT_EQ(row(report, {"(none)"})->energy, microjoules(50));
  EXPECT_EQ(row(report, {"(other)"})->energy, microjoules(100 - 20 - 5 - 50));  // not the 70 that it rose by
  EXPECT_TRUE(report.rows.back().unattributed);
  EXPECT_EQ(sum_of(report), report.total.energy);
  EXPECT_EQ(report.inconsistent, 0u);
}

TEST(FleetReport, AllKindsAtOnceLeaveOutWhatBelongsToNone) {
  FleetFacts two = facts();
  two.kinds["user"] = {consumer("a1", "cpu", "user", "ann", 75), consumer("b1", "cpu", "user", "ann", 200),
                       consumer("b1", "gpu", "user", "bob", 500)};
  const FleetReport report = make_fleet_report(std::move(two), {"instance", "", {"kind"}});
  EXPECT_EQ(row(report, {"user"})->energy, microjoules(775));
  EXPECT_EQ(row(report, {"job"})->energy, microjoules(725));  // without the 50 of "(none)"
}

TEST(FleetReport, ConsumersAboveTheirWholeAreTold) {
  FleetFacts bad = facts();
  bad.kinds["job"].push_back(consumer("b1", "gpu", "job", "extra", 1));
  EXPECT_EQ(make_fleet_report(std::move(bad), {"instance", "job", {"name"}}).inconsistent, 1u);
}

}  // namespace
}  // namespace joulery
