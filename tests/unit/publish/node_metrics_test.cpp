#include "publish/node_metrics.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>
#include <set>

#include "sample_account.h"

namespace joulery {
namespace {

TEST(MetricValue, PrintsEveryDigit) {
  EXPECT_EQ(MetricValue::of(microjoules(12'345'678)).text(), "12.345678");
  EXPECT_EQ(MetricValue::of(microjoules(-1)).text(), "-0.000001");
  EXPECT_EQ(MetricValue::of(microjoules(0)).text(), "0.000000");
  EXPECT_EQ(MetricValue::of(microjoules(9'007'199'254'740'993)).text(), "9007199254.740993");  // 2^53 + 1: no double holds it
  EXPECT_EQ(MetricValue::of(microjoules(std::numeric_limits<std::int64_t>::min())).text(), "-9223372036854.775808");
  EXPECT_EQ(MetricValue::of(milliseconds(1500)).text(), "1.500000000");
  EXPECT_EQ(MetricValue::whole(0).text(), "0");
  EXPECT_EQ(MetricValue::real(0.1).text(), "0.1");
  EXPECT_EQ(MetricValue::real(-std::numeric_limits<double>::infinity()).text(), "-Inf");
  EXPECT_DOUBLE_EQ(MetricValue::of(microjoules(12'345'678)).as_double(), 12.345678);
}

std::map<std::string, std::int64_t> component_sums(const std::vector<MetricFamily>& families) {
  std::map<std::string, std::int64_t> sums;
  for (const auto& [key, sum] : sums_by(families, "joulery_component_joules_total", "component", "quality")) sums[key.first] += sum;
  return sums;
}

// Each kind, with idle and unattributed, sums to each component to the microjoule.
void expect_conservation(const std::vector<MetricFamily>& families, const std::set<std::string>& kinds) {
  auto by_kind = sums_by(families, "joulery_consumer_joules_total", "kind", "component");
  for (const auto& [component, sum] : component_sums(families))
    for (const std::string& kind : kinds)
      ASSERT_EQ((by_kind[{kind, component}] + by_kind[{"idle", component}] + by_kind[{"unattributed", component}]), sum)
          << kind << " of " << component;
}

void expect_no_twins(const std::vector<MetricFamily>& families) {
  for (const MetricFamily& family : families) {
    std::set<std::vector<std::pair<std::string, std::string>>> seen;
    for (const MetricSample& sample : family.samples) {
      ASSERT_TRUE(seen.insert(sample.labels).second) << family.name;
      ASSERT_TRUE(std::is_sorted(sample.labels.begin(), sample.labels.end()));
    }
  }
}

TEST(NodeMetrics, EachKindSumsToTheNode) {
  NodeMetrics metrics({200, "1.2.3"});
  const auto families = metrics.of(sample_account());
  expect_conservation(families, {"process", "container", "user"});
  expect_no_twins(families);
}

TEST(NodeMetrics, ToldByComponentAndQuality) {
  NodeMetrics metrics;
  const auto families = metrics.of(sample_account());
  auto joules = sums_by(families, "joulery_component_joules_total", "component", "quality");
  EXPECT_EQ((joules[{"node/cpu/package-0", "measured"}]), 1'000'000'007);
  EXPECT_EQ((joules[{"node/cpu/package-0", "estimated"}]), 500'000);
  EXPECT_EQ((joules[{"node/gpu/0", "integrated"}]), 7'500'000'001);
  EXPECT_FALSE((joules.contains({"node/cpu/package-0/core", "measured"})));
  const MetricFamily* watts_family = family_of(families, "joulery_component_watts");
  ASSERT_TRUE(watts_family);
  EXPECT_EQ(watts_family->samples.size(), 2U) << "the GPU's power is not known: it has no line";
  EXPECT_EQ((sums_by(families, "joulery_missing_seconds_total", "meter", "reason")[{"nvidia.nvml", "gone"}]), 12'500'000'000);
}

TEST(NodeMetrics, TheRestStandsTogether) {
  NodeMetrics metrics({1, ""});
  const auto families = metrics.of(sample_account());
  expect_conservation(families, {"process", "container", "user"});
  std::set<std::string> names;
  for (const MetricSample& sample : family_of(families, "joulery_consumer_joules_total")->samples)
    if (label_of(sample, "kind") == "process") names.insert(label_of(sample, "name"));
  EXPECT_EQ(names, (std::set<std::string>{"(other)", "python[4711]"}));
}

TEST(NodeMetrics, NamesThatAreNoUtf8DoNotMakeTwins) {
  NodeAccount account;
  account.components.push_back({"node/cpu/package-0", "m", Quality::measured, {{Quality::measured, microjoules(30)}}, {}, "", {}});
  for (const char* name : {"\xff[1]", "\\xff[1]"})
    account.consumers.push_back({ConsumerKind::process, name, {microjoules(15)}, watts(1), Duration(), {}});
  NodeMetrics metrics;
  const auto families = metrics.of(account);
  expect_no_twins(families);
  expect_conservation(families, {"process"});
}

TEST(NodeMetrics, AFigureThatIsNotKnownHasNoLine) {
  NodeAccount account;
  account.components.push_back({"node/gpu/0", "", Quality::missing, {}, {}, "no driver", {}});
  NodeMetrics metrics;
  const auto families = metrics.of(account);
  EXPECT_FALSE(family_of(families, "joulery_component_joules_total"));
  EXPECT_FALSE(family_of(families, "joulery_component_watts"));
}

TEST(NodeMetrics, EveryFamilyIsListedWithItsUnit) {
  for (const MetricFamily& family : NodeMetrics::all_families()) {
    EXPECT_EQ(family.type == MetricType::counter, family.name.ends_with("_total")) << family.name;
    const std::string base = family.name.ends_with("_total") ? family.name.substr(0, family.name.size() - 6) : family.name;
    EXPECT_TRUE(family.unit.empty() || base.ends_with("_" + family.unit)) << family.name;
    EXPECT_FALSE(family.help.empty()) << family.name;
  }
}

// A node whose processes come, burn and end, with few lines for many of them.
struct Machine {
  std::map<std::string, std::pair<Energy, Power>> running;
  Energy ended, idle;
  int next = 1;

  void live() {
    for (auto& [name, use] : running) {
      const auto more = *rc::gen::inRange<std::int64_t>(0, 5'000'000);
      use = {use.first + microjoules(more), watts(static_cast<double>(more) * 1e-6)};
    }
    if (*rc::gen::arbitrary<bool>()) running["p[" + std::to_string(next++) + "]"] = {microjoules(*rc::gen::inRange(1, 9)), watts(0)};
    if (running.size() > 3 && *rc::gen::arbitrary<bool>()) {
      const auto gone = std::next(running.begin(), *rc::gen::inRange<std::int64_t>(0, static_cast<std::int64_t>(running.size())));
      ended += gone->second.first;
      running.erase(gone);
    }
    idle += microjoules(*rc::gen::inRange(0, 1000));
  }

  NodeAccount account() const {
    NodeAccount node;
    Energy sum = ended + idle;
    for (const auto& [name, use] : running) {
      node.consumers.push_back({ConsumerKind::process, name, {use.first}, use.second, Duration(), {}});
      sum += use.first;
    }
    node.consumers.push_back({ConsumerKind::process, "(ended)", {ended}, {}, Duration(), {}});
    node.consumers.push_back({ConsumerKind::idle, "", {idle}, {}, Duration(), {}});
    node.components.push_back({"node/cpu/package-0", "m", Quality::measured, {{Quality::measured, sum}}, {}, "", {}});
    return node;
  }
};

RC_GTEST_PROP(NodeMetrics, SumsHoldAndNoLineFallsWhoeverComesAndGoes, ()) {
  Machine machine;
  NodeMetrics metrics({4, ""});
  std::map<std::string, std::int64_t> before;
  for (int tick = 0; tick < 40; ++tick) {
    machine.live();
    const auto families = metrics.of(machine.account());
    std::map<std::string, std::int64_t> now;
    for (const auto& [key, sum] : sums_by(families, "joulery_consumer_joules_total", "name", "kind")) now[key.first] = sum;
    std::int64_t sum = 0;
    for (const auto& [name, joules] : now) {
      RC_ASSERT(joules >= 0);
      sum += joules;
      const auto old = before.find(name);
      RC_ASSERT((old == before.end() || old->second <= joules));  // in parentheses: RapidCheck's own || looks at both sides
    }
    RC_ASSERT(sum == component_sums(families)["node/cpu/package-0"]);
    RC_ASSERT(now.size() <= 6U);  // four lines, "(other)" and idle
    before = std::move(now);
  }
}

// The components of a node may change their order when one appears; what a line counts from goes with its component.
TEST(NodeMetrics, ComponentsMayAppearInBetween) {
  NodeMetrics metrics({1, ""});
  NodeAccount account;
  account.components.push_back({"node/cpu/package-0", "m", Quality::measured, {{Quality::measured, microjoules(100)}}, {}, "", {}});
  account.consumers.push_back({ConsumerKind::process, "a[1]", {microjoules(60)}, watts(1), Duration(), {}});
  account.consumers.push_back({ConsumerKind::process, "b[2]", {microjoules(40)}, watts(0), Duration(), {}});
  metrics.of(account);
  account.consumers[1].power = watts(50);  // b takes the line over, at 40
  metrics.of(account);
  account.components.insert(account.components.begin(),
                            {"node/accelerator", "m", Quality::measured, {{Quality::measured, microjoules(7)}}, {}, "", {}});
  account.components[1].energy[Quality::measured] = microjoules(105);
  account.consumers[0].energy = {microjoules(0), microjoules(60)};
  account.consumers[1].energy = {microjoules(7), microjoules(45)};
  auto lines = sums_by(metrics.of(account), "joulery_consumer_joules_total", "name", "component");
  EXPECT_EQ((lines[{"b[2]", "node/cpu/package-0"}]), 5);
  EXPECT_EQ((lines[{"b[2]", "node/accelerator"}]), 7);
  EXPECT_EQ((lines[{"(other)", "node/cpu/package-0"}]), 100);
}

}  // namespace
}  // namespace joulery
