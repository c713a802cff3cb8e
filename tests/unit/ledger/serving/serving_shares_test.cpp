// Requests get what they really cost: a simulated server with known costs tells the truth, request by request.
#include "ledger/serving/serving_shares.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "ledger/serving/batching_server.h"

namespace joulery {
namespace {

using simulated::Costs;
using simulated::Load;

Energy sum_of(std::span<const ServingSlot> slots) {
  Energy sum;
  for (const ServingSlot& slot : slots) sum += slot.accelerators + slot.host;
  return sum;
}

Energy sum_of(const ServingShares& shares) {
  Energy sum = shares.idle_accelerators + shares.idle_host + shares.unattributed;
  for (const SharedJoules& use : shares.uses) sum += use.accelerators + use.host;
  return sum;
}

struct Judged {
  std::map<std::string, double> share, truth;  // joules by kind of request
  double covered = 0, count = 0;               // requests whose 90 % interval holds the truth
  ServingShares shares;
};

Judged judge(const simulated::Run& run, const ServingFacts& facts) {
  const auto uses = uses_of(run.requests, simulated::clocks());
  Judged judged;
  judged.shares = share_serving(run.slots, uses, facts);
  EXPECT_EQ(sum_of(judged.shares), sum_of(run.slots));
  EXPECT_EQ(judged.shares.sum(), sum_of(run.slots));
  for (std::size_t i = 0; i < run.requests.size(); ++i) {
    const Estimate& e = judged.shares.uses[i].total;
    for (const std::string& kind : {run.requests[i].group, std::string("all")}) {
      judged.share[kind] += to_joules(e.value);
      judged.truth[kind] += run.truth[i];
    }
    judged.count += 1;
    if (to_joules(e.low) <= run.truth[i] && run.truth[i] <= to_joules(e.high)) judged.covered += 1;
  }
  return judged;
}

void expect_within(const Judged& judged, double share) {
  for (const auto& [kind, truth] : judged.truth) { EXPECT_NEAR(judged.share.at(kind) / truth, 1, share) << kind; }
}

TEST(ServingShares, EachKindOfRequestGetsWhatItCost) {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    const Judged judged = judge(simulated::simulate(Costs{}, Load{}, seed), {});
    expect_within(judged, 0.05);
    EXPECT_TRUE(judged.shares.costs.weights_fitted);
    EXPECT_NEAR(judged.shares.costs.best.idle_watts, 90, 9);
    EXPECT_NEAR(judged.shares.costs.best.prefill_joules / judged.shares.costs.best.decode_joules, 0.05 / 0.8, 0.1 * 0.05 / 0.8);
  }
}

TEST(ServingShares, PromptsThatCostNearlyNothingAndPromptsThatCostMost) {
  Costs cheap, dear;
  cheap.prefill_j = 0.002;
  dear.prefill_j = 0.5;
  expect_within(judge(simulated::simulate(cheap, Load{}, 11), {}), 0.05);
  expect_within(judge(simulated::simulate(dear, Load{}, 12), {}), 0.05);
}

TEST(ServingShares, AServerThatQueues) {
  Load load;
  load.requests_a_second = 14;
  load.most_batch = 24;
  load.seconds = 240;
  expect_within(judge(simulated::simulate(Costs{}, load, 21), ServingFacts{.idle_accelerator_watts = 0.0, .idle_host_watts = 90.0}), 0.05);
  load.tell_scheduled = true;
  expect_within(judge(simulated::simulate(Costs{}, load, 22), ServingFacts{.idle_accelerator_watts = 0.0, .idle_host_watts = 90.0}), 0.05);
}

TEST(ServingShares, StepsHaveACostOfTheirOwn) {
  Costs costs;
  costs.step_j = 6;  // as much as 7 tokens of answers
  Load load;
  load.requests_a_second = 3;
  const Judged judged = judge(simulated::simulate(costs, load, 31), {});
  expect_within(judged, 0.05);
  EXPECT_NEAR(judged.shares.costs.best.step_joules, 6, 0.6);
}

TEST(ServingShares, AMeterThatTicksSlowlyAndIsNoisy) {
  Costs costs;
  costs.meter_noise_j = 3;
  Load load;
  load.slot_s = 1;
  load.seconds = 600;
  expect_within(judge(simulated::simulate(costs, load, 41), {}), 0.05);
}

// Seeds that nothing was tuned on; docs/measured/serving.md has more of them, and more kinds of servers.
TEST(ServingShares, IntervalsHoldTheTruth) {
  std::vector<std::pair<Costs, Load>> servers(6);
  servers[1].first.meter_noise_j = 5;
  servers[2].first.jitter = 0.1;
  servers[3].first.step_j = 6;
  servers[3].second.requests_a_second = 3;
  servers[4].first.meter_noise_j = 1;
  servers[4].second.slot_s = 0.5;
  servers[5].second.seconds = 60;
  double sum = 0;
  for (const auto& [costs, load] : servers) {
    double covered = 0, count = 0;
    for (unsigned seed = 61; seed <= 63; ++seed) {
      const Judged judged = judge(simulated::simulate(costs, load, seed), {});
      covered += judged.covered;
      count += judged.count;
    }
    const double share = covered / count;
    EXPECT_GT(share, 0.84);
    EXPECT_LT(share, 0.96);
    sum += share;
  }
  const double mean = sum / static_cast<double>(servers.size());
  EXPECT_GE(mean, 0.87);
  EXPECT_LE(mean, 0.93);
}

TEST(ServingShares, WithoutAnythingInWorkAllIsIdle) {
  simulated::Run run = simulated::simulate(Costs{}, Load{.seconds = 5}, 1);
  const ServingShares shares = share_serving(run.slots, {}, {});
  EXPECT_EQ(shares.idle_host, sum_of(run.slots));
  EXPECT_EQ(shares.active_host, Energy{});
}

TEST(ServingShares, TooLittleToFitSaysSo) {
  // Two intervals of one second and 100 J; one request of 30 tokens over both, one of 10 in the second.
  const std::vector<ServingSlot> slots = {{.when = {{0}, {1'000'000'000}}, .accelerators = {}, .host = joules(100)},
                                          {.when = {{1'000'000'000}, {2'000'000'000}}, .accelerators = {}, .host = joules(100)}};
  const Interval first{{0}, {2'000'000'000}}, second{{1'000'000'000}, {2'000'000'000}};
  const std::vector<ServingUse> uses = {{first, first, 0, 30}, {second, second, 5, 5}};
  const ServingShares shares = share_serving(slots, uses, {});
  EXPECT_FALSE(shares.costs.weights_fitted);
  EXPECT_FALSE(shares.costs.note.empty());
  EXPECT_EQ(shares.uses[0].total.value, joules(160));  // 100 J + 15 of 25 tokens of 100 J
  EXPECT_EQ(shares.uses[1].total.value, joules(40));
  EXPECT_EQ(shares.uses[0].quality, Quality::estimated);
}

TEST(ServingShares, WhatNobodyKnowsIsUnattributed) {
  simulated::Run run = simulated::simulate(Costs{}, Load{.seconds = 20}, 3);
  for (std::size_t i = 50; i < 100; ++i) run.slots[i].unattributed = true;
  Energy lost;
  for (std::size_t i = 50; i < 100; ++i) lost += run.slots[i].host;
  const auto shares = share_serving(run.slots, uses_of(run.requests, simulated::clocks()), {});
  EXPECT_EQ(shares.unattributed, lost);
  EXPECT_EQ(sum_of(shares), sum_of(run.slots));
}

// Law: whatever comes in, parts sum to the whole.
RC_GTEST_PROP(ServingShares, PartsSumToTheWhole, ()) {
  std::vector<ServingSlot> slots;
  std::int64_t at = 0;
  for (const auto length : *rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 2'000'000'000))) {
    slots.push_back({.when = {{at}, {at + length}},
                     .accelerators = microjoules(*rc::gen::inRange<std::int64_t>(0, 500'000'000)),
                     .host = microjoules(*rc::gen::inRange<std::int64_t>(0, 500'000'000)),
                     .whole = *rc::gen::inRange(0, 5) != 0,
                     .unattributed = *rc::gen::inRange(0, 9) == 0});
    at += length;
  }
  std::vector<ServingUse> uses;
  const auto moment = [&] { return MonoTime{*rc::gen::inRange<std::int64_t>(-1'000, at + 1'000)}; };
  const int count = *rc::gen::inRange(0, 30);
  for (int i = 0; i < count; ++i) {
    const MonoTime a = moment(), b = moment(), c = moment();
    uses.push_back({{std::min(a, b), std::max(a, b)},
                    {std::max(a, b), std::max(std::max(a, b), c)},
                    static_cast<double>(*rc::gen::inRange(0, 5000)),
                    static_cast<double>(*rc::gen::inRange(0, 500))});
  }
  const ServingShares shares = share_serving(slots, uses, {});
  RC_ASSERT(sum_of(shares) == sum_of(slots));
  RC_ASSERT(shares.sum() == sum_of(slots));
  for (const SharedJoules& use : shares.uses)
    RC_ASSERT(use.accelerators >= Energy{} && use.host >= Energy{} && use.total.low <= use.total.value &&
              use.total.value <= use.total.high);
}

}  // namespace
}  // namespace joulery
