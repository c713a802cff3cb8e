#include "app/agent/stored_account.h"

#include <gtest/gtest.h>

namespace joulery {
namespace {

// Keeps the sum of what was added, by series.
class SummingStore final : public Store {
 public:
  SeriesId series(const SeriesKey& key) override {
    keys.push_back(key);
    return {static_cast<std::uint32_t>(keys.size() - 1)};
  }
  void forget(SeriesId series) override { forgotten.push_back(series); }
  void add(WallTime, Duration, std::span<const StoreSample> samples) override {
    sums.resize(keys.size());
    for (const StoreSample& sample : samples) sums[sample.series.value] += sample.count;
  }
  Result<void> flush() override { return {}; }
  Result<void> close() override { return {}; }
  std::vector<StoreEvent> take_events() override { return {}; }
  StoreCounts counts() const override { return {}; }

  std::int64_t sum(const std::string& kind, const std::string& name) const {
    std::int64_t all = 0;
    for (std::size_t i = 0; i < keys.size(); ++i)
      if (const auto of = keys[i].labels.find("kind"); of != keys[i].labels.end() && of->second == kind)
        if (name.empty() || keys[i].labels.at("name") == name) all += sums[i];
    return all;
  }

  std::vector<SeriesKey> keys;
  std::vector<std::int64_t> sums;
  std::vector<SeriesId> forgotten;
};

MonoTime at(int s) { return MonoTime{} + seconds(s); }

ProcessTick process(std::int32_t pid, double cpu, bool ended) {
  ProcessTick tick{{pid, pid * 10}, "p", {}, {}, ended};
  tick.use.cpu = seconds(cpu);
  tick.workload.user = "alice";
  return tick;
}

NodeTick tick_of(int begin, double joules_burnt, std::vector<ProcessTick> processes) {
  const ComponentReading package{
      Component("node/cpu/package-0"), "rapl.powercap", Quality::measured, joules(joules_burnt), "", std::nullopt, false};
  return {{at(begin), at(begin + 1)}, {package}, std::move(processes), {}, "ebpf", {}};
}

// A storm: in each second five processes of 6 mJ each, which no count of 20 mJ can tell.
TEST(StoredAccount, WhatShortProcessesLeaveBehindIsStoredUnderEnded) {
  SummingStore store;
  StoredAccount stored(store);
  NodeAccounts accounts(at(0), IdlePolicy::separate, seconds(60));
  constexpr int seconds_long = 100;
  for (int s = 0; s < seconds_long; ++s) {
    std::vector<ProcessTick> processes;
    for (int p = 0; p < 5; ++p) processes.push_back(process(1 + 5 * s + p, 1, true));
    accounts.add(tick_of(s, 0.030, std::move(processes)));
    stored.add(accounts, WallTime{} + seconds(s + 1), seconds(1));
  }
  for (int s = seconds_long; s < seconds_long + 5; ++s) {
    accounts.add(tick_of(s, 0, {}));
    stored.add(accounts, WallTime{} + seconds(s + 1), seconds(1));
  }
  EXPECT_EQ(store.sum("process", ""), 150) << "100 s of 30 mJ are 150 counts of 20 mJ";
  EXPECT_EQ(store.sum("process", "(ended)"), 150);
  EXPECT_EQ(store.sum("user", "alice") + store.sum("user", "(ended)"), 150);
  EXPECT_LT(store.keys.size(), 20u) << "no series for who never had a count";
}

TEST(StoredAccount, AConsumerHasASeriesFromItsFirstCountAndGivesItBack) {
  SummingStore store;
  StoredAccount stored(store);
  NodeAccounts accounts(at(0), IdlePolicy::separate, seconds(1));
  const auto tick = [&](int s, double joules_burnt, std::vector<ProcessTick> processes) {
    accounts.add(tick_of(s, joules_burnt, std::move(processes)));
    stored.add(accounts, WallTime{} + seconds(s + 1), seconds(1));
  };
  tick(0, 0.015, {process(1, 1, false)});
  EXPECT_EQ(store.sum("process", "p[1]"), 0);
  tick(1, 0.015, {process(1, 1, false)});
  EXPECT_EQ(store.sum("process", "p[1]"), 1) << "30 mJ";
  tick(2, 1, {process(1, 1, true)});
  EXPECT_EQ(store.sum("process", "p[1]"), 51) << "1.03 J";
  EXPECT_TRUE(store.forgotten.empty());
  for (int s = 3; s < 8; ++s) tick(s, 0.002, {process(2, 1, false)});
  EXPECT_FALSE(store.forgotten.empty());
  EXPECT_EQ(store.sum("process", "p[1]"), 51);
  EXPECT_EQ(store.sum("process", "(ended)"), 0) << "10 mJ of p[1]";
}

}  // namespace
}  // namespace joulery
