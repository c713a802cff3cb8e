#include "ledger/process_shares.h"

#include <gtest/gtest.h>

namespace joulery {
namespace {

const Interval run{{0}, {10'000'000'000}};

ProcessSample sample(std::int32_t pid, double at_s, double cpu_s, std::string name = "p") {
  return {{pid, 100}, 1, std::move(name), {seconds(at_s).base_units()}, seconds(cpu_s)};
}

Energy sum_of(const std::vector<ProcessShare>& lines) {
  Energy sum;
  for (const ProcessShare& line : lines) sum += line.energy.value_or(Energy{});
  return sum;
}

// 40 J above idle; 6, 3 and 1 CPU seconds; nothing else runs.
TEST(ProcessShares, ByCpuTimeAboveIdle) {
  const std::vector<ProcessSample> samples{sample(1, 10, 6), sample(2, 10, 3), sample(3, 10, 1)};
  const auto lines = share_by_process(samples, {}, {}, run, {joules(100), std::nullopt, joules(60), seconds(10)});
  EXPECT_EQ(lines[0].energy, joules(24));
  EXPECT_EQ(lines[1].energy, joules(12));
  EXPECT_EQ(lines[2].energy, joules(4));
  EXPECT_EQ(lines.back().name, "idle");
  EXPECT_EQ(lines.back().energy, joules(60));
  EXPECT_EQ(sum_of(lines), joules(100));
}

TEST(ProcessShares, WhatOthersUseIsNotOurs) {
  const std::vector<ProcessSample> samples{sample(1, 10, 5)};
  const auto lines = share_by_process(samples, {}, {}, run, {joules(100), std::nullopt, std::nullopt, seconds(20)});
  EXPECT_EQ(lines[0].energy, joules(25));
  EXPECT_EQ(lines[1].name, "other processes");
  EXPECT_EQ(lines[1].energy, joules(75));
}

TEST(ProcessShares, ShortLivedChildrenAreALine) {
  const std::vector<ProcessSample> samples{sample(1, 10, 1)};
  const auto lines = share_by_process(samples, seconds(3), {}, run, {joules(40), std::nullopt, std::nullopt, seconds(4)});
  EXPECT_EQ(lines[1].name, "short-lived children");
  EXPECT_EQ(lines[1].energy, joules(30));
}

// 40 J for 4 CPU seconds: 1 of the command, 2.5 of children known by name, 0.5 of others.
TEST(ProcessShares, ThoseKnownByNameHaveLinesOfTheirOwn) {
  const std::vector<ProcessSample> samples{sample(1, 10, 1)};
  const std::vector<ShortLivedSum> named{{"cc1", 214, seconds(2)}, {"as", 214, seconds(0.5)}};
  const auto lines = share_by_process(samples, seconds(3), named, run, {joules(40), std::nullopt, std::nullopt, seconds(4)});
  EXPECT_EQ(lines[1].name, "cc1 (214 short-lived)");
  EXPECT_EQ(lines[1].energy, joules(20));
  EXPECT_EQ(lines[2].energy, joules(5));
  EXPECT_EQ(lines[3].name, "short-lived children");
  EXPECT_EQ(lines[3].energy, joules(5));
  EXPECT_EQ(sum_of(lines), joules(40));
}

TEST(ProcessShares, CpuTimeBeforeTheRunIsNotCounted) {
  const std::vector<ProcessSample> samples{sample(1, -1, 5), sample(1, 10, 7)};
  EXPECT_EQ(share_by_process(samples, {}, {}, run, {})[0].cpu, seconds(2));
}

TEST(ProcessShares, UnknownBusyTimeLeavesEnergyUnknown) {
  const std::vector<ProcessSample> samples{sample(1, 10, 5)};
  const auto lines = share_by_process(samples, {}, {}, run, {joules(100), std::nullopt, std::nullopt, {}});
  EXPECT_FALSE(lines[0].energy);
}

TEST(ProcessShares, AcceleratorsAreALineOfTheirOwn) {
  const std::vector<ProcessSample> samples{sample(1, 10, 5)};
  const auto lines = share_by_process(samples, {}, {}, run, {joules(100), joules(900), std::nullopt, seconds(5)});
  EXPECT_EQ(lines[0].energy, joules(100));
  EXPECT_EQ(lines.back().energy, joules(900));
  EXPECT_EQ(sum_of(lines), joules(1000));
}

}  // namespace
}  // namespace joulery
