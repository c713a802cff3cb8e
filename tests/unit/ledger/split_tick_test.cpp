#include "ledger/attribution/split_tick.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>

#include "ledger/attribution/accelerator_use.h"

namespace joulery {
namespace {

const Component package{"node/cpu/package-0"}, dram{"node/dram/package-0"}, gpu{"node/gpu/0"};

ConsumerUse of_cpu(double s) {
  ConsumerUse use;
  use.cpu = seconds(s);
  return use;
}

// measure 22: active 40 J; CPU seconds 6, 3, 1.
TEST(SplitTick, ActiveEnergyGoesByCpuTimeAndSumsToTheWhole) {
  const std::vector<ComponentTick> components{{package, joules(65), joules(25)}};
  const std::vector<ConsumerUse> uses{of_cpu(6), of_cpu(3), of_cpu(1)};
  const auto split = split_tick(components, uses, {}, IdlePolicy::separate);
  EXPECT_EQ(split[0].shares, (std::vector<Energy>{joules(24), joules(12), joules(4)}));
  EXPECT_EQ(split[0].idle, joules(25));
  EXPECT_EQ(split[0].unattributed, Energy{});
}

// measure 27: who used no CPU gets no dynamic energy.
TEST(SplitTick, AProcessWithoutCpuTimeGetsNothing) {
  const std::vector<ComponentTick> components{{package, joules(50), joules(20)}};
  const std::vector<ConsumerUse> uses{of_cpu(0), of_cpu(2)};
  const auto split = split_tick(components, uses, {}, IdlePolicy::separate);
  EXPECT_EQ(split[0].shares[0], Energy{});
  EXPECT_EQ(split[0].shares[1], joules(30));
}

TEST(SplitTick, WhatNobodyIsKnownToHaveUsedIsUnattributed) {
  const std::vector<ComponentTick> components{{package, joules(50), joules(20)}};
  const auto nobody = split_tick(components, {}, {}, IdlePolicy::separate);
  EXPECT_EQ(nobody[0].unattributed, joules(30));
  EXPECT_EQ(nobody[0].idle, joules(20));
  const std::vector<ConsumerUse> uses{of_cpu(2)};
  const auto half = split_tick(components, uses, seconds(2), IdlePolicy::separate);
  EXPECT_EQ(half[0].shares[0], joules(15));
  EXPECT_EQ(half[0].unattributed, joules(15));
}

TEST(SplitTick, ProportionalSpreadsIdleByUse) {
  const std::vector<ComponentTick> components{{package, joules(50), joules(20)}};
  const std::vector<ConsumerUse> uses{of_cpu(3), of_cpu(1)};
  const auto split = split_tick(components, uses, {}, IdlePolicy::proportional);
  EXPECT_EQ(split[0].shares, (std::vector<Energy>{microjoules(37'500'000), microjoules(12'500'000)}));
  EXPECT_EQ(split[0].idle, Energy{});
  // Where nobody used it there is nothing to go by: it stays idle.
  EXPECT_EQ(split_tick(components, {}, {}, IdlePolicy::proportional)[0].idle, joules(20));
}

TEST(SplitTick, ReservedSpreadsIdleByWhatWasReserved) {
  const std::vector<ComponentTick> components{{package, joules(50), joules(20)}};
  std::vector<ConsumerUse> uses{of_cpu(3), of_cpu(0)};
  uses[0].reserved_cpu = 0.25;
  uses[1].reserved_cpu = 0.5;
  const auto split = split_tick(components, uses, {}, IdlePolicy::reserved);
  EXPECT_EQ(split[0].shares, (std::vector<Energy>{joules(35), joules(10)}));
  EXPECT_EQ(split[0].idle, joules(5));
  // More was promised than there is: all are cut alike.
  uses[0].reserved_cpu = 2;
  uses[1].reserved_cpu = 2;
  const auto cut = split_tick(components, uses, {}, IdlePolicy::reserved);
  EXPECT_EQ(cut[0].shares, (std::vector<Energy>{joules(40), joules(10)}));
  EXPECT_EQ(cut[0].idle, Energy{});
}

TEST(SplitTick, MemoryGoesByResidentBytesOrElseByCpuTime) {
  const std::vector<ComponentTick> components{{dram, joules(8), std::nullopt}};
  std::vector<ConsumerUse> uses{of_cpu(1), of_cpu(3)};
  EXPECT_EQ(split_tick(components, uses, {}, IdlePolicy::separate)[0].shares, (std::vector<Energy>{joules(2), joules(6)}));
  uses[0].memory = 3 << 20;
  uses[1].memory = 1 << 20;
  EXPECT_EQ(split_tick(components, uses, seconds(4), IdlePolicy::separate)[0].shares, (std::vector<Energy>{joules(6), joules(2)}));
}

TEST(SplitTick, AnAcceleratorGoesToWhoUsedItNotToWhoUsedTheProcessors) {
  const std::vector<ComponentTick> components{{package, joules(10), std::nullopt}, {gpu, joules(300), joules(60)}};
  std::vector<ConsumerUse> uses{of_cpu(9), of_cpu(1)};
  uses[1].accelerators = {{1, 1.0}};
  const auto split = split_tick(components, uses, {}, IdlePolicy::separate);
  EXPECT_EQ(split[1].shares, (std::vector<Energy>{Energy{}, joules(240)}));
  EXPECT_EQ(split[0].shares, (std::vector<Energy>{joules(9), joules(1)}));
}

TEST(SplitTick, StaticEnergyIsNeverMoreThanThereIs) {
  const std::vector<ComponentTick> components{{package, joules(15), joules(20)}};
  const std::vector<ConsumerUse> uses{of_cpu(1)};
  const auto split = split_tick(components, uses, {}, IdlePolicy::separate);
  EXPECT_EQ(split[0].idle, joules(15));
  EXPECT_EQ(split[0].shares[0], Energy{});
}

DeviceProcess user(std::int64_t pid, const std::string& component, std::optional<double> busy, std::optional<std::int64_t> memory) {
  return {pid, Component(component), memory, busy, std::nullopt, std::nullopt, std::nullopt};
}

TEST(AcceleratorUse, GoesByBusyTimeThenMemoryThenAlike) {
  const std::vector<DeviceProcess> busy{user(1, "node/gpu/0", 0.6, 100), user(2, "node/gpu/0", 0.2, 900), user(3, "node/gpu/1", 0.9, 1)};
  auto use = accelerator_use(gpu, busy, {});
  EXPECT_EQ(use.method, UseMethod::busy);
  EXPECT_EQ(use.weights.size(), 2u);
  EXPECT_NEAR(use.weights[1] / use.weights[2], 3, 1e-12);
  const std::vector<DeviceProcess> memory{user(1, "node/gpu/0", std::nullopt, 100), user(2, "node/gpu/0", std::nullopt, 300)};
  use = accelerator_use(gpu, memory, {});
  EXPECT_EQ(use.method, UseMethod::memory);
  EXPECT_NEAR(use.weights[2] / use.weights[1], 3, 1e-12);
  const std::vector<DeviceProcess> nothing{user(1, "node/gpu/0", {}, {}), user(2, "node/gpu/0", {}, {})};
  use = accelerator_use(gpu, nothing, {});
  EXPECT_EQ(use.method, UseMethod::alike);
  EXPECT_EQ(use.weights[1], use.weights[2]);
}

TEST(AcceleratorUse, OneProcessNeedsNoModel) {
  const std::vector<DeviceProcess> one{user(7, "node/gpu/0", std::nullopt, std::nullopt)};
  EXPECT_EQ(accelerator_use(gpu, one, {}).method, UseMethod::alone);
  EXPECT_EQ(accelerator_use(gpu, {}, {}).method, UseMethod::nobody);
}

TEST(AcceleratorUse, SlicesAreWeighedByHowBusyTheyWere) {
  const std::vector<DeviceProcess> users{user(1, "node/gpu/0/mig-1", {}, 500), user(2, "node/gpu/0/mig-2", {}, 100),
                                         user(3, "node/gpu/0/mig-2", {}, 300)};
  auto use = accelerator_use(gpu, users, {{"node/gpu/0/mig-1", 0.8}, {"node/gpu/0/mig-2", 0.4}});
  EXPECT_NEAR(use.weights[1], 0.8, 1e-12);
  EXPECT_NEAR(use.weights[2], 0.1, 1e-12);
  EXPECT_NEAR(use.weights[3], 0.3, 1e-12);
}

RC_GTEST_PROP(SplitTickLaw, SharesIdleAndUnattributedSumToTheEnergy, ()) {
  const auto policy = *rc::gen::element(IdlePolicy::separate, IdlePolicy::proportional, IdlePolicy::reserved);
  const std::vector<Component> all{package, dram, gpu, Component("node/rest")};
  std::vector<ComponentTick> components;
  for (const Component& component : all) {
    const auto energy = microjoules(*rc::gen::inRange<std::int64_t>(0, 1'000'000'000'000));
    const bool learnt = *rc::gen::arbitrary<bool>();
    components.push_back(
        {component, energy, learnt ? std::optional(microjoules(*rc::gen::inRange<std::int64_t>(0, 1'000'000'000'000))) : std::nullopt});
  }
  std::vector<ConsumerUse> uses(static_cast<std::size_t>(*rc::gen::inRange(0, 20)));
  for (ConsumerUse& use : uses) {
    use.cpu = nanoseconds(*rc::gen::inRange<std::int64_t>(0, 4'000'000'000));
    use.memory = *rc::gen::inRange<std::int64_t>(0, 1'000'000'000);
    use.reserved_cpu = *rc::gen::inRange(0, 100) / 80.0;
    if (*rc::gen::arbitrary<bool>()) use.accelerators = {{2, *rc::gen::inRange(0, 100) / 100.0}};
  }
  const auto splits = split_tick(components, uses, nanoseconds(*rc::gen::inRange<std::int64_t>(0, 1'000'000'000)), policy);
  for (std::size_t c = 0; c < components.size(); ++c) {
    Energy sum = splits[c].idle + splits[c].unattributed;
    for (const Energy share : splits[c].shares) {
      RC_ASSERT(share >= Energy{});
      sum += share;
    }
    RC_ASSERT(sum == components[c].energy);
  }
}

}  // namespace
}  // namespace joulery
