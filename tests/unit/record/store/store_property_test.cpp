// The law of the store: whatever is added in whatever order, a range has the sum of its rows, at every step.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "store_folder.h"

namespace joulery {
namespace {

using namespace test;

struct Row {
  std::int64_t begin_ms, length_ms;
  std::map<std::string, std::int64_t> counts;
};

Sums model_sums(const std::vector<Row>& rows, std::int64_t from, std::int64_t to) {
  Sums sums;
  for (const Row& row : rows) {
    if (row.begin_ms < from || row.begin_ms >= to) continue;
    for (const auto& [component, count] : row.counts) {
      sums[component].count += count;
      sums[component].held_ms += row.length_ms;
    }
  }
  return sums;
}

const char* const components[] = {"node", "node/cpu/package-0", "node/gpu/0", "node/gpu/1"};

RC_GTEST_PROP(StoreProperty, SumsAreTheSameAtEveryStep, ()) {
  const StoreFolder folder;
  const auto fold = *rc::gen::inRange<std::size_t>(1, 400);
  auto store = open_store(folder, {.fold_samples = fold});
  std::vector<Row> rows;
  std::int64_t now = march_ms + *rc::gen::inRange<std::int64_t>(0, 86'400'000);
  const int bursts = *rc::gen::inRange(1, 8);
  for (int burst = 0; burst < bursts; ++burst) {
    const int ticks = *rc::gen::inRange(1, 120);
    for (int i = 0; i < ticks; ++i) {
      Row row{now, *rc::gen::inRange<std::int64_t>(1, 1500), {}};
      std::vector<StoreSample> samples;
      for (const char* component : components) {
        if (*rc::gen::inRange(0, 4) == 0) continue;
        const auto count = *rc::gen::weightedOneOf<std::int64_t>(
            {{9, rc::gen::inRange<std::int64_t>(-5, 100'000)}, {1, rc::gen::inRange<std::int64_t>(-(1LL << 40), 1LL << 40)}});
        row.counts[component] = count;
        samples.push_back({store->series(energy_of(component)), count});
      }
      store->add(at_ms(now + row.length_ms), milliseconds(row.length_ms), samples);
      now += row.length_ms;
      rows.push_back(std::move(row));
      if (*rc::gen::inRange(0, 10) == 0) RC_ASSERT(store->flush().has_value());
    }
    if (*rc::gen::inRange(0, 3) == 0) {
      RC_ASSERT(store->close().has_value());
      store = open_store(folder, {.fold_samples = fold});
    }
    // A suspension, a clock that is set, a new day.
    now += *rc::gen::element<std::int64_t>(-86'400'000, -3'600'000, -30'000, 0, 45'000, 3'700'000, 50'000'000);
  }
  RC_ASSERT(store->flush().has_value());
  RC_ASSERT(store->take_events().empty());

  const std::int64_t first = march_ms - 8 * 86'400'000LL, last = march_ms + 9 * 86'400'000LL;
  for (const Duration step : {seconds(0), seconds(60), seconds(3600), seconds(86'400)}) {
    RC_ASSERT(sums_of(ask(folder, first, last, step)) == model_sums(rows, first, last));
  }
  const Row& some = rows[*rc::gen::inRange<std::size_t>(0, rows.size())];
  const std::int64_t from = some.begin_ms - *rc::gen::inRange<std::int64_t>(0, 200'000);
  const std::int64_t to = from + *rc::gen::inRange<std::int64_t>(1, 9'000'000);
  for (const Duration step : {seconds(0), seconds(1), seconds(7), seconds(60), seconds(3600)}) {
    RC_ASSERT(sums_of(ask(folder, from, to, step)) == model_sums(rows, from, to));
  }
  const auto covered = ask(folder, from, to, seconds(60)).covered_time();
  std::int64_t held = 0;
  for (const Row& row : rows) held += row.begin_ms >= from && row.begin_ms < to ? row.length_ms : 0;
  RC_ASSERT(covered == milliseconds(held));
}

}  // namespace
}  // namespace joulery
