#include "publish/rounded_account.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdlib>

#include "sample_account.h"

namespace joulery {
namespace {

constexpr std::int64_t step = 100'000;

using Rows = std::map<std::pair<ConsumerKind, std::string>, std::vector<Energy>>;

Rows rows_of(const NodeAccount& account) {
  Rows rows;
  for (const ConsumerAccount& consumer : account.consumers) rows[{consumer.kind, consumer.name}] = consumer.energy;
  return rows;
}

std::int64_t component_sum(const NodeAccount& account, std::size_t i) {
  std::int64_t sum = 0;
  for (const auto& known : account.components[i].energy) sum += known.second.base_units();
  return sum;
}

std::int64_t kind_sum(const NodeAccount& account, ConsumerKind kind, std::size_t i) {
  std::int64_t sum = 0;
  for (const ConsumerAccount& consumer : account.consumers)
    if (consumer.kind == kind || consumer.kind == ConsumerKind::idle || consumer.kind == ConsumerKind::unattributed)
      sum += consumer.energy[i].base_units();
  return sum;
}

TEST(RoundedAccount, WholeStepsThatStillSum) {
  RoundedAccount rounded;
  const NodeAccount account = rounded.of(sample_account());
  for (std::size_t i = 0; i < account.components.size(); ++i)
    for (const ConsumerKind kind : {ConsumerKind::process, ConsumerKind::container, ConsumerKind::user})
      EXPECT_EQ(kind_sum(account, kind, i), component_sum(account, i)) << name_of(kind) << i;
  for (const auto& [key, energy] : rows_of(account))
    for (const Energy one : energy) EXPECT_EQ(one.base_units() % step, 0) << key.second;
  EXPECT_EQ(component_sum(account, 0), 1'000'500'000);  // 1000.000007 and 0.5 J, each cut to 0.1 J
  EXPECT_EQ(component_sum(account, 2), 7'500'000'000);
  EXPECT_EQ(account.components[1].power, watts(1.2));   // 1.25 to the even step
  EXPECT_FALSE(account.components[2].power);
}

TEST(RoundedAccount, TheLowBitsOfOneProcessAreNotThere) {
  NodeAccount a, b;
  for (NodeAccount* account : {&a, &b}) {
    const Energy secret = microjoules(account == &a ? 1'012'345 : 1'067'890);
    account->components.push_back({"node/cpu/package-0", "m", Quality::measured, {{Quality::measured, secret}}, watts(1.012), "", {}});
    account->consumers.push_back({ConsumerKind::process, "p[1]", {secret}, watts(1.012), Duration(), {}});
    account->consumers.push_back({ConsumerKind::user, "u", {secret}, watts(1.012), Duration(), {}});
  }
  RoundedAccount of_a, of_b;
  EXPECT_EQ(rows_of(of_a.of(a)), rows_of(of_b.of(b)));
  EXPECT_EQ(of_a.of(a).consumers[0].power, watts(1.0));
}

struct Machine {
  std::map<std::string, Energy> running;
  Energy ended, idle, unattributed;
  int next = 1;
  bool numbered = false;  // each consumer has a version of its own, by which it is known again

  std::map<std::pair<ConsumerKind, std::string>, std::uint64_t> versions;

  NodeAccount tick() {
    const auto some = [](std::int64_t most) { return microjoules(*rc::gen::inRange<std::int64_t>(0, most)); };
    for (auto& process : running) process.second += some(60'000);  // mostly less than a step
    for (int i = *rc::gen::inRange(0, 3); i > 0; --i) running["p[" + std::to_string(next++) + "]"] = some(9);
    if (running.size() > 2 && *rc::gen::arbitrary<bool>()) {
      ended += running.begin()->second;
      running.erase(running.begin());
    }
    idle += some(200'000);
    unattributed += some(1'000);
    NodeAccount node;
    Energy sum = ended + idle + unattributed;
    for (const auto& [name, energy] : running) {
      node.consumers.push_back({ConsumerKind::process, name, {energy}, {}, Duration(), {}});
      sum += energy;
    }
    if (ended > Energy()) node.consumers.push_back({ConsumerKind::process, "(ended)", {ended}, {}, Duration(), {}});
    node.consumers.push_back({ConsumerKind::user, "u", {sum - idle - unattributed}, {}, Duration(), {}});
    node.consumers.push_back({ConsumerKind::idle, "", {idle}, {}, Duration(), {}});
    node.consumers.push_back({ConsumerKind::unattributed, "", {unattributed}, {}, Duration(), {}});
    node.components.push_back({"node/cpu/package-0", "m", Quality::measured, {{Quality::measured, sum}}, {}, "", {}});
    for (ConsumerAccount& consumer : node.consumers)
      if (numbered) consumer.version = versions.try_emplace({consumer.kind, consumer.name}, versions.size() + 1).first->second;
    return node;
  }
};

RC_GTEST_PROP(RoundedAccount, SumsHoldNothingFallsAndAllStaysNearTheTruth, ()) {
  Machine machine;
  machine.numbered = *rc::gen::arbitrary<bool>();
  RoundedAccount rounded;
  Rows before;
  for (int tick = 0; tick < 60; ++tick) {
    const NodeAccount exact = machine.tick();
    const NodeAccount account = rounded.of(exact);
    RC_ASSERT(kind_sum(account, ConsumerKind::process, 0) == component_sum(account, 0));
    RC_ASSERT(kind_sum(account, ConsumerKind::user, 0) == component_sum(account, 0));
    RC_ASSERT(component_sum(account, 0) <= component_sum(exact, 0));
    RC_ASSERT(component_sum(account, 0) + step > component_sum(exact, 0));
    const Rows now = rows_of(account), truth = rows_of(exact);
    for (const auto& [key, energy] : now) {
      RC_ASSERT(energy[0].base_units() % step == 0);
      const auto old = before.find(key);
      RC_ASSERT((old == before.end() || old->second[0] <= energy[0]));  // in parentheses: RapidCheck's own || looks at both sides
      const auto real = truth.find(key);
      const std::int64_t away = energy[0].base_units() - (real == truth.end() ? 0 : real->second[0].base_units());
      RC_ASSERT(std::abs(away) <= 10 * step);
    }
    before = now;
  }
}

TEST(RoundedAccount, AnAccountThatBeganAnewIsToldAnew) {
  RoundedAccount rounded;
  rounded.of(sample_account());
  NodeAccount account = sample_account();
  account.components[0].energy = {{Quality::measured, microjoules(10'000'000)}};
  account.consumers.clear();
  account.consumers.push_back({ConsumerKind::idle, "", {microjoules(10'000'000), Energy(), Energy()}, {}, Duration(), {}});
  const NodeAccount told = rounded.of(account);
  EXPECT_EQ(told.consumers[0].energy[0], microjoules(10'000'000));
}

}  // namespace
}  // namespace joulery
