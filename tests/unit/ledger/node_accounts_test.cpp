#include "ledger/attribution/node_accounts.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>

namespace joulery {
namespace {

MonoTime at(double s) { return MonoTime{} + seconds(s); }

ComponentReading package(double joules_burnt, std::optional<double> idle = std::nullopt) {
  return {Component("node/cpu/package-0"),
          "rapl.powercap",
          Quality::measured,
          joules(joules_burnt),
          "",
          idle ? std::optional(joules(*idle)) : std::nullopt,
          false};
}

ProcessTick process(std::int32_t pid, const std::string& name, double cpu, const std::string& container = "", bool ended = false) {
  ProcessTick tick{{pid, pid * 10}, name, {}, {}, ended};
  tick.use.cpu = seconds(cpu);
  tick.workload.container = container;
  tick.workload.cgroup = container.empty() ? "/user.slice" : "/docker/" + container;
  tick.workload.user = "alice";
  return tick;
}

NodeTick tick_of(double begin, std::vector<ComponentReading> components, std::vector<ProcessTick> processes) {
  return {{at(begin), at(begin + 1)}, std::move(components), std::move(processes), {}, "ebpf"};
}

const ConsumerAccount* find(const NodeAccount& account, ConsumerKind kind, const std::string& name) {
  for (const ConsumerAccount& consumer : account.consumers)
    if (consumer.kind == kind && consumer.name == name) return &consumer;
  return nullptr;
}

Energy sum(const ConsumerAccount& consumer) { return std::accumulate(consumer.energy.begin(), consumer.energy.end(), Energy{}); }

TEST(NodeAccounts, BooksAProcessUnderAllThatItBelongsTo) {
  NodeAccounts accounts(at(0), IdlePolicy::separate, seconds(60));
  accounts.add(tick_of(0, {package(30, 10)}, {process(1, "train", 3, "abc"), process(2, "sh", 1)}));
  const NodeAccount account = accounts.account();
  EXPECT_EQ(sum(*find(account, ConsumerKind::process, "train[1]")), joules(15));
  EXPECT_EQ(sum(*find(account, ConsumerKind::container, "abc")), joules(15));
  EXPECT_EQ(sum(*find(account, ConsumerKind::container, "(none)")), joules(5));
  EXPECT_EQ(sum(*find(account, ConsumerKind::user, "alice")), joules(20));
  EXPECT_EQ(sum(*find(account, ConsumerKind::idle, "")), joules(10));
  EXPECT_EQ(account.violations, 0);
  EXPECT_EQ(*account.components[0].idle, watts(10));
}

TEST(NodeAccounts, WhatEndedIsFoldedAfterAWhileAndSumsStay) {
  NodeAccounts accounts(at(0), IdlePolicy::separate, seconds(5));
  accounts.add(tick_of(0, {package(10)}, {process(1, "a", 1, "c1", true), process(2, "b", 1)}));
  EXPECT_TRUE(find(accounts.account(), ConsumerKind::process, "a[1]"));
  for (int i = 1; i < 10; ++i) accounts.add(tick_of(i, {package(10)}, {process(2, "b", 1)}));
  const NodeAccount account = accounts.account();
  EXPECT_FALSE(find(account, ConsumerKind::process, "a[1]"));
  EXPECT_EQ(sum(*find(account, ConsumerKind::process, "(ended)")), joules(5));
  EXPECT_EQ(sum(*find(account, ConsumerKind::container, "(ended)")), joules(5));
  EXPECT_EQ(sum(*find(account, ConsumerKind::process, "b[2]")), joules(95));
  EXPECT_EQ(account.violations, 0);
}

TEST(NodeAccounts, AStormOfShortProcessesLeavesNoCrowd) {
  NodeAccounts accounts(at(0), IdlePolicy::separate, seconds(300));
  for (int i = 0; i < 50; ++i) accounts.add(tick_of(i, {package(10)}, {process(100 + i, "sleep", 1, "", true), process(2, "b", 1)}));
  const auto of_processes = [](const ConsumerAccount& consumer) { return consumer.kind == ConsumerKind::process; };
  const NodeAccount account = accounts.account();
  EXPECT_LE(std::ranges::count_if(account.consumers, of_processes), 4);
  EXPECT_EQ(account.violations, 0);
  EXPECT_GE(sum(*find(account, ConsumerKind::process, "(ended)")), joules(240));
}

TEST(NodeAccounts, WhatLivedLongIsSeenForAWhileAfterItsEnd) {
  NodeAccounts accounts(at(0), IdlePolicy::separate, seconds(20));
  for (int i = 0; i < 30; ++i) accounts.add(tick_of(i, {package(10)}, {process(1, "train", 1, "", i == 29)}));
  for (int i = 30; i < 45; ++i) accounts.add(tick_of(i, {package(10)}, {}));
  EXPECT_TRUE(find(accounts.account(), ConsumerKind::process, "train[1]"));
  for (int i = 45; i < 55; ++i) accounts.add(tick_of(i, {package(10)}, {}));
  EXPECT_FALSE(find(accounts.account(), ConsumerKind::process, "train[1]"));
}

TEST(NodeAccounts, AReusedPidIsAnotherProcess) {
  NodeAccounts accounts(at(0), IdlePolicy::separate, seconds(1));
  accounts.add(tick_of(0, {package(10)}, {process(1, "a", 1, "", true)}));
  ProcessTick other = process(1, "b", 1);
  other.id.start_ticks = 99;
  accounts.add(tick_of(1, {package(10)}, {other}));
  EXPECT_EQ(sum(*find(accounts.account(), ConsumerKind::process, "b[1]")), joules(10));
}

TEST(NodeAccounts, AMissingComponentIsNoEnergyButMissingTime) {
  NodeAccounts accounts(at(0), IdlePolicy::separate, seconds(5));
  ComponentReading lost = package(0);
  lost.energy.reset();
  lost.reason = "disappeared";
  accounts.add(tick_of(0, {package(10)}, {process(1, "a", 1)}));
  accounts.add(tick_of(1, {lost}, {process(1, "a", 1)}));
  const NodeAccount account = accounts.account();
  EXPECT_FALSE(account.components[0].power);
  EXPECT_EQ(account.components[0].reason, "disappeared");
  EXPECT_EQ(account.components[0].energy.at(Quality::measured), joules(10));
  EXPECT_EQ(account.missing.at({"rapl.powercap", "disappeared"}), seconds(1));
  EXPECT_FALSE(account.components[0].idle) << "what was not learnt is not nothing";
}

TEST(NodeAccounts, OverlapsAreShownApart) {
  NodeAccounts accounts(at(0), IdlePolicy::separate, seconds(5));
  ComponentReading core{Component("node/cpu/package-0/core"), "rapl.powercap", Quality::measured, joules(7), "", std::nullopt, true};
  ProcessTick gpu_user = process(1, "train", 1);
  gpu_user.use.accelerators = {{2, 1.0}};
  const ComponentReading gpu{Component("node/gpu/0"), "nvml", Quality::measured, joules(100), "", std::nullopt, false};
  accounts.add(tick_of(0, {package(10), core, gpu}, {gpu_user, process(2, "sh", 1)}));
  const NodeAccount account = accounts.account();
  ASSERT_EQ(account.components.size(), 2u);
  EXPECT_EQ(account.overlaps[0].component, "node/cpu/package-0/core");
  EXPECT_EQ(find(account, ConsumerKind::process, "train[1]")->energy, (std::vector<Energy>{joules(5), joules(100)}));
}

ComponentReading dram(double joules_burnt) {
  return {Component("node/dram/package-0"), "rapl.powercap", Quality::measured, joules(joules_burnt), "", std::nullopt, false};
}

TEST(NodeAccounts, WhoOnlyHoldsMemoryHasItsShareAndIsBookedWhereItBelongs) {
  NodeAccounts accounts(at(0), IdlePolicy::separate, seconds(60));
  ProcessTick sleeper = process(1, "cache", 0, "abc");
  sleeper.use.memory = 300;
  ProcessTick runner = process(2, "sh", 1);
  runner.use.memory = 100;
  accounts.add(tick_of(0, {package(10), dram(4)}, {sleeper, runner}));
  NodeTick tick = tick_of(1, {package(10), dram(4)}, {runner});
  tick.held = {{{1, 10}, 300}};
  accounts.add(tick);
  const NodeAccount account = accounts.account();
  EXPECT_EQ(find(account, ConsumerKind::process, "cache[1]")->energy, (std::vector<Energy>{joules(0), joules(6)}));
  EXPECT_EQ(find(account, ConsumerKind::container, "abc")->energy, (std::vector<Energy>{joules(0), joules(6)}));
  EXPECT_EQ(find(account, ConsumerKind::user, "alice")->energy, (std::vector<Energy>{joules(20), joules(8)}));
  EXPECT_EQ(*find(account, ConsumerKind::process, "cache[1]")->power, watts(3));
  EXPECT_EQ(account.violations, 0);
}

TEST(NodeAccounts, MemoryOfWhoIsNotKnownIsNobodys) {
  NodeAccounts accounts(at(0), IdlePolicy::separate, seconds(60));
  NodeTick tick = tick_of(0, {dram(4)}, {});
  tick.held = {{{1, 10}, 300}};
  accounts.add(tick);
  EXPECT_EQ(sum(*find(accounts.account(), ConsumerKind::unattributed, "")), joules(4));
  EXPECT_EQ(accounts.violations(), 0);
}

TEST(NodeAccounts, WhoUsedNothingInATickHasNoPowerAndNoBooking) {
  NodeAccounts accounts(at(0), IdlePolicy::separate, seconds(60));
  accounts.add(tick_of(0, {package(10)}, {process(1, "a", 1), process(2, "b", 1)}));
  EXPECT_EQ(*find(accounts.account(), ConsumerKind::process, "a[1]")->power, watts(5));
  accounts.add(tick_of(1, {package(10)}, {process(2, "b", 1)}));
  EXPECT_EQ(*find(accounts.account(), ConsumerKind::process, "a[1]")->power, watts(0));
  EXPECT_TRUE(std::ranges::none_of(accounts.bookings(), [](const Booking& booking) { return booking.consumer->name == "a[1]"; }));
  EXPECT_EQ(sum(*find(accounts.account(), ConsumerKind::process, "a[1]")), joules(5)) << "what it had used stays";
}

TEST(NodeAccounts, TellsWhomItFoldedByTheNumberOfTheirBookings) {
  NodeAccounts accounts(at(0), IdlePolicy::separate, seconds(5));
  accounts.add(tick_of(0, {package(10)}, {process(1, "a", 1, "", true)}));
  ConsumerNumber number = 0;
  for (const Booking& booking : accounts.bookings())
    if (booking.consumer->name == "a[1]") number = booking.number;
  accounts.add(tick_of(1, {package(10)}, {process(2, "b", 1)}));
  EXPECT_EQ(accounts.folded(), (std::vector<std::pair<ConsumerNumber, ConsumerKind>>{{number, ConsumerKind::process}}));
  accounts.add(tick_of(2, {package(10)}, {process(2, "b", 1)}));
  EXPECT_TRUE(accounts.folded().empty());
}

// measure 22, over time: whatever happens, each kind sums to the node.
RC_GTEST_PROP(NodeAccountsLaw, EveryKindSumsToTheNode, ()) {
  NodeAccounts accounts(at(0), *rc::gen::element(IdlePolicy::separate, IdlePolicy::proportional, IdlePolicy::reserved), seconds(2));
  Energy burnt;
  NodeAccount kept;
  const int ticks = *rc::gen::inRange(1, 12);
  for (int t = 0; t < ticks; ++t) {
    std::vector<ComponentReading> components;
    for (const char* path : {"node/cpu/package-0", "node/dram/package-0", "node/gpu/0"}) {
      ComponentReading reading{Component(path), "m",  Quality::measured, microjoules(*rc::gen::inRange<std::int64_t>(0, 1'000'000'000)), "",
                               std::nullopt,    false};
      if (*rc::gen::inRange(0, 4) == 0) reading.energy.reset();
      if (*rc::gen::arbitrary<bool>()) reading.idle = microjoules(*rc::gen::inRange<std::int64_t>(0, 500'000'000));
      burnt += reading.energy.value_or(Energy{});
      components.push_back(reading);
    }
    std::vector<ProcessTick> processes;
    for (int p = *rc::gen::inRange(0, 6); p > 0; --p)
      processes.push_back(process(p, *rc::gen::element<std::string>("a", "b"), *rc::gen::inRange(0, 1000) / 1000.0,
                                  *rc::gen::element<std::string>("", "c1", "c2"), *rc::gen::inRange(0, 4) == 0));
    NodeTick tick = tick_of(t, components, processes);
    for (int h = *rc::gen::inRange(0, 4); h > 0; --h) tick.held.push_back({{h, h * 10}, *rc::gen::inRange<std::int64_t>(0, 1000)});
    accounts.add(tick);
    accounts.account(kept);
  }
  const NodeAccount account = accounts.account();
  RC_ASSERT(account.violations == 0);
  RC_ASSERT(kept.consumers.size() == account.consumers.size());
  for (const ConsumerAccount& consumer : account.consumers) {
    const ConsumerAccount* same = find(kept, consumer.kind, consumer.name);
    RC_ASSERT(same && same->energy == consumer.energy && same->power == consumer.power && same->cpu == consumer.cpu);
    RC_ASSERT(same->labels == consumer.labels);
  }
  for (const ConsumerKind kind : {ConsumerKind::process, ConsumerKind::cgroup, ConsumerKind::container, ConsumerKind::user}) {
    Energy told;
    for (const ConsumerAccount& consumer : account.consumers)
      if (consumer.kind == kind || consumer.kind >= ConsumerKind::idle) told += sum(consumer);
    RC_ASSERT(told == burnt);
  }
}

}  // namespace
}  // namespace joulery
