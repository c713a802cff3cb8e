#include "record/store/store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>

#include "record/store/day_file.h"
#include "record/store/store_settings.h"
#include "store_folder.h"

namespace joulery {
namespace {

using namespace test;
namespace fs = std::filesystem;

void add_seconds(Store& store, SeriesId series, std::int64_t first_ms, int count, std::int64_t value, bool flush_each = false) {
  for (int i = 0; i < count; ++i) {
    const StoreSample sample{series, value + i};
    store.add(at_ms(first_ms + (i + 1) * 1000), seconds(1), std::span(&sample, 1));
    if (flush_each) { ASSERT_TRUE(store.flush()); }
  }
  const auto done = store.flush();
  ASSERT_TRUE(done) << done.error().line();
}

TEST(Store, GivesBackWhatWasAdded) {
  const StoreFolder folder;
  const auto store = open_store(folder);
  add_seconds(*store, store->series(energy_of("node")), march_ms, 3, 100, true);
  const auto answer = ask(folder, march_ms, march_ms + 10'000, seconds(1));
  ASSERT_EQ(answer.series.size(), 1u);
  EXPECT_EQ(answer.series[0].key, energy_of("node"));
  ASSERT_EQ(answer.series[0].points.size(), 3u);
  EXPECT_EQ(answer.series[0].points[1].begin, at_ms(march_ms + 1000));
  EXPECT_EQ(answer.series[0].points[1].count, 101);
  EXPECT_EQ(answer.series[0].points[1].held, seconds(1));
  EXPECT_DOUBLE_EQ(total_of(answer.series[0].key, answer.series[0].points[1]), 0.101);
  EXPECT_DOUBLE_EQ(rate_of(answer.series[0].key, answer.series[0].points[1]).value(), 0.101);
  EXPECT_EQ(answer.covered_time(), seconds(3));
}

TEST(Store, AMissingSecondIsNowhere) {
  const StoreFolder folder;
  {
    const auto store = open_store(folder);
    const SeriesId node = store->series(energy_of("node"));
    add_seconds(*store, node, march_ms, 10, 5);
    add_seconds(*store, node, march_ms + 30'000, 10, 5);         // 20 s are missing
    add_seconds(*store, node, march_ms + 3'600'000, 1, 7);       // the next hour: the one before is folded
  }
  for (const Duration step : {seconds(60), seconds(3600), seconds(0)}) {
    const auto sums = sums_of(ask(folder, march_ms, march_ms + 3'600'000, step));
    EXPECT_EQ(sums.at("node"), (Sum{2 * (10 * 5 + 45), 20'000}));
  }
  const auto by_second = ask(folder, march_ms, march_ms + 3'600'000, seconds(1));
  EXPECT_EQ(by_second.series.at(0).points.size(), 20u);
}

TEST(Store, AGaugeHasTheMeanWeightedByTime) {
  const StoreFolder folder;
  {
    const auto store = open_store(folder);
    const SeriesId gauge = store->series({"load_ratio", {{"component", "cpu"}}, 0.01, SeriesKind::mean});
    StoreSample sample{gauge, 50};
    store->add(at_ms(march_ms + 1000), seconds(1), std::span(&sample, 1));
    sample.count = 20;
    store->add(at_ms(march_ms + 4000), seconds(3), std::span(&sample, 1));
    store->add(at_ms(march_ms + 3'601'000), seconds(1), std::span(&sample, 1));
    ASSERT_TRUE(store->flush());
  }
  for (const Duration step : {seconds(10), seconds(60), seconds(3600)}) {
    const auto answer = ask(folder, march_ms, march_ms + 3'600'000, step);
    ASSERT_EQ(answer.series.at(0).points.size(), 1u);
    // (50 · 1 s + 20 · 3 s) / 4 s = 27.5 counts
    EXPECT_DOUBLE_EQ(rate_of(answer.series[0].key, answer.series[0].points[0]).value(), 0.275);
    EXPECT_DOUBLE_EQ(total_of(answer.series[0].key, answer.series[0].points[0]), 0.275);
  }
}

TEST(Store, GoesOnInTheSameFile) {
  const StoreFolder folder;
  for (int turn = 0; turn < 5; ++turn) {
    const auto store = open_store(folder);
    add_seconds(*store, store->series(energy_of("node")), march_ms + turn * 2000, 2, 10);
    if (turn == 2) add_seconds(*store, store->series(energy_of("node/gpu/0")), march_ms + turn * 2000, 1, 1);
  }
  const auto answer = ask(folder, march_ms, march_ms + 60'000, seconds(0));
  EXPECT_EQ(sums_of(answer).at("node"), (Sum{5 * 21, 10'000}));
  // Each series has one number for the whole day, whatever the number of starts.
  auto database = open_day_for_reading(folder.file("day-2026-03-01.joules"));
  ASSERT_TRUE(database);
  EXPECT_EQ(database->integer("SELECT count(*) FROM series").value() + database->integer("SELECT sum(count) FROM series_pack").value(), 2);
}

TEST(Store, AClockThatStepsBackMakesSecondsThatHoldMore) {
  const StoreFolder folder;
  const std::int64_t noon = march_ms + 12 * 3'600'000;
  {
    const auto store = open_store(folder);
    const SeriesId node = store->series(energy_of("node"));
    add_seconds(*store, node, noon, 100, 1000);
    add_seconds(*store, node, noon + 50'000, 100, 1000);         // 50 s back
    add_seconds(*store, node, noon - 86'400'000, 10, 3);         // a day back
    add_seconds(*store, node, noon + 150'000, 10, 3);            // and forth again
    add_seconds(*store, node, noon + 2 * 3'600'000, 1, 9);
  }
  const std::int64_t hundred = 100 * 1000 + 99 * 100 / 2, ten = 30 + 45;
  for (const Duration step : {seconds(0), seconds(1), seconds(60), seconds(3600), seconds(86'400)}) {
    EXPECT_EQ(sums_of(ask(folder, noon, noon + 3'600'000, step)).at("node"), (Sum{2 * hundred + ten, 210'000}));
    EXPECT_EQ(sums_of(ask(folder, noon - 86'400'000, noon, step)).at("node"), (Sum{ten, 10'000}));
  }
  const auto both = ask(folder, noon + 60'000, noon + 61'000, seconds(1));
  EXPECT_EQ(both.series.at(0).points.at(0).held, seconds(2));
  EXPECT_EQ(both.series[0].points[0].count, 1060 + 1010);
}

TEST(Store, ShortLivedSeriesCostLittleAndAddUp) {
  const StoreFolder folder;
  const auto store = open_store(folder, {.fold_samples = 4000});
  const int ticks = 900, lives = 3;  // each second one process begins, and lives for three ticks
  std::vector<SeriesId> alive;
  for (int i = 0; i < ticks; ++i) {
    alive.push_back(store->series(
        {"consumer_joules", {{"component", "node"}, {"kind", "process"}, {"name", "cc1plus[" + std::to_string(20'000 + i) + "]"}}, 0.001}));
    if (alive.size() > lives) {
      store->forget(alive.front());
      alive.erase(alive.begin());
    }
    std::vector<StoreSample> samples;
    for (const SeriesId series : alive) samples.push_back({series, 30 + i % 7});
    store->add(at_ms(march_ms + (i + 1) * 1000), seconds(1), samples);
    if (i % 10 == 0) { ASSERT_TRUE(store->flush()); }
  }
  ASSERT_TRUE(store->close());
  EXPECT_EQ(store->counts().refused_samples, 0);
  const auto reader = StoreReader::open(folder.store());
  const auto answer = reader->query({{}, at_ms(march_ms), at_ms(march_ms + 3'600'000), seconds(0), std::vector<std::string>{"kind"}});
  ASSERT_TRUE(answer);
  std::int64_t expected = 0;
  for (int i = 0; i < ticks; ++i) expected += std::min(i + 1, lives) * (30 + i % 7);
  ASSERT_EQ(answer->series.size(), 1u);
  EXPECT_EQ(answer->series[0].points.at(0).count, expected);
  EXPECT_EQ(answer->series[0].points[0].held, seconds(ticks));  // of a group: all ticks
  EXPECT_LT(fs::file_size(folder.file("day-2026-03-01.joules")), 200 * ticks + 60'000u);
}

TEST(Store, RefusesWhatItDoesNotKnowAndASecondCountInATick) {
  const StoreFolder folder;
  const auto store = open_store(folder);
  const SeriesId node = store->series(energy_of("node"));
  const StoreSample samples[] = {{node, 5}, {node, 6}, {SeriesId{77}, 1}};
  store->add(at_ms(march_ms + 1000), seconds(1), samples);
  ASSERT_TRUE(store->flush());
  EXPECT_EQ(store->counts().refused_samples, 2);
  EXPECT_EQ(sums_of(ask(folder, march_ms, march_ms + 60'000, seconds(0))).at("node"), (Sum{5, 1000}));
}

TEST(Store, AFolderHasOneWriter) {
  const StoreFolder folder;
  const auto first = open_store(folder);
  const auto second = Store::open(folder.store());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::busy);
  EXPECT_EQ(second.error().what, "another agent writes to this store");
  ASSERT_TRUE(first->close());
  EXPECT_TRUE(Store::open(folder.store()));
}

TEST(Store, ANewerFormatIsRefused) {
  const StoreFolder folder;
  { add_seconds(*open_store(folder), SeriesId{}, march_ms, 1, 1); }
  const std::string path = folder.file("day-2026-03-01.joules");
  {
    auto database = Database::open_for_writing(path);
    ASSERT_TRUE(database->execute("PRAGMA journal_mode=DELETE;PRAGMA user_version=9"));
  }
  const auto store = Store::open(folder.store());
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, ErrorCode::newer_format);
  EXPECT_EQ(store.error().where, path);
  const auto answer = StoreReader::open(folder.store())->query({{}, at_ms(march_ms), at_ms(march_ms + 1000), seconds(0), std::nullopt});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::newer_format);
}

void damage(const std::string& path, std::streamoff at, std::size_t length) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(at);
  file << std::string(length, '\x5a');
}

TEST(Store, ADamagedFileIsMovedAside) {
  const StoreFolder folder;
  const std::string path = folder.file("day-2026-03-01.joules");
  for (const std::streamoff where : {std::streamoff{0}, std::streamoff{100}}) {
    {
      const auto store = open_store(folder);
      add_seconds(*store, store->series(energy_of("node")), march_ms, 5, 1);
    }
    damage(path, where, 4000);
    const auto store = open_store(folder);
    add_seconds(*store, store->series(energy_of("node")), march_ms + 10'000, 5, 1);
    const auto events = store->take_events();
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].kind, StoreEventKind::aside);
    EXPECT_NE(events[0].text.find(path + ".damaged"), std::string::npos) << events[0].text;
    EXPECT_EQ(sums_of(ask(folder, march_ms, march_ms + 60'000, seconds(0))).at("node"), (Sum{15, 5000}));
    ASSERT_TRUE(store->close());
    fs::remove(path);
  }
  EXPECT_TRUE(fs::exists(path + ".damaged"));
  EXPECT_TRUE(fs::exists(path + ".damaged-1"));
}

// A limit on the size of files stands for a disk without room: writes fail in the middle, and later they do not.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit now = before_;
    now.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &now);
  }
  ~FileLimit() { ::setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

TEST(Store, AFullDiskMakesRowsWait) {
  const StoreFolder folder;
  const auto store = open_store(folder);
  const SeriesId node = store->series(energy_of("node"));
  add_seconds(*store, node, march_ms, 5, 1);
  const StoreSample sample{node, 10};
  {
    const FileLimit limit(4096);
    for (int i = 0; i < 20; ++i) {
      store->add(at_ms(march_ms + (10 + i) * 1000), seconds(1), std::span(&sample, 1));
      EXPECT_FALSE(store->flush());
    }
    const auto events = store->take_events();
    ASSERT_EQ(events.size(), 1u);  // said once
    EXPECT_EQ(events[0].kind, StoreEventKind::stopped);
    EXPECT_GT(store->counts().waiting_bytes, 0);
  }
  ASSERT_TRUE(store->flush());
  const auto events = store->take_events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, StoreEventKind::resumed);
  EXPECT_EQ(sums_of(ask(folder, march_ms, march_ms + 60'000, seconds(0))).at("node"), (Sum{15 + 200, 25'000}));
  EXPECT_EQ(store->counts().waiting_bytes, 0);
}

TEST(Store, WhatWaitsIsBounded) {
  const StoreFolder folder;
  const auto store = open_store(folder, {.waiting_bytes = 2000});
  const StoreSample sample{store->series(energy_of("node")), 10};
  {
    const FileLimit limit(1000);
    for (int i = 0; i < 100; ++i) {
      store->add(at_ms(march_ms + (i + 1) * 1000), seconds(1), std::span(&sample, 1));
      EXPECT_FALSE(store->flush());
    }
  }
  ASSERT_TRUE(store->flush());
  const StoreCounts counts = store->counts();
  EXPECT_GT(counts.dropped_rows, 50);
  EXPECT_EQ(counts.dropped_rows + counts.rows, 100);
  EXPECT_EQ(sums_of(ask(folder, march_ms, march_ms + 200'000, seconds(0))).at("node").held_ms, counts.rows * 1000);
  bool told = false;
  for (const auto& event : store->take_events()) told = told || event.kind == StoreEventKind::dropped;
  EXPECT_TRUE(told);
}

TEST(Store, OldDaysLoseTheirFineLevels) {
  const StoreFolder folder;
  StoreSettings settings;
  settings.keep_raw = seconds(2 * 86'400);
  settings.keep_minutes = seconds(5 * 86'400);
  const auto store = open_store(folder, settings);
  const SeriesId node = store->series(energy_of("node"));
  const int days = 10;
  for (int day = 0; day < days; ++day) {
    for (int hour = 0; hour < 24; hour += 6) add_seconds(*store, node, march_ms + (day * 24 + hour) * 3'600'000LL, 90, 7, false);
  }
  const std::int64_t evening = march_ms + (days * 24 - 3) * 3'600'000LL;
  const int steady = 3'700;  // seconds without a jump of the clock: an hour is asked for
  add_seconds(*store, node, evening, steady, 0);
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(store->flush());  // one old file at each
  const auto finest = [&](int day) {
    auto database = open_day_for_reading(folder.file(day_file_name(20'513 + day)));
    return database ? finest_level(*database).value() : Level::raw;
  };
  // The newest row is of the last day, 22:01: a day is over for two days when two more have passed whole.
  EXPECT_EQ(finest(9), Level::raw);
  EXPECT_EQ(finest(7), Level::raw);
  EXPECT_EQ(finest(6), Level::minute);
  EXPECT_EQ(finest(4), Level::minute);
  EXPECT_EQ(finest(3), Level::hour);
  EXPECT_EQ(finest(0), Level::hour);
  const std::int64_t each = 90 * 7 + 89 * 90 / 2;
  for (const Duration step : {seconds(0), seconds(60), seconds(3600)}) {
    EXPECT_EQ(sums_of(ask(folder, march_ms, evening, step)).at("node"), (Sum{days * 4 * each, days * 4 * 90'000}));
    EXPECT_EQ(sums_of(ask(folder, evening, evening + 7'200'000, step)).at("node"), (Sum{steady * (steady - 1) / 2, steady * 1000}));
  }
}

// As configured: the file of a day that has been over for six days is gone.
TEST(Store, OldDaysGoAsTheSettingsSay) {
  const StoreFolder folder;
  Settings words;
  for (const auto& [key, text] : {std::pair{"keep_seconds", "1d"}, {"keep_minutes", "3d"}, {"keep_hours", "6d"}})
    words.set(std::string("agent.store.") + key, {std::string(text), {"a test", 0}});
  const auto store = open_store(folder, *read_store_settings(words));
  const SeriesId node = store->series(energy_of("node"));
  for (int day = 0; day < 10; ++day) add_seconds(*store, node, march_ms + day * 86'400'000LL, 90, 7, false);
  add_seconds(*store, node, march_ms + (10 * 24 - 3) * 3'600'000LL, 3'700, 0);
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(store->flush());
  // The newest row is of the tenth day (9): day 3 has been over for five whole days, day 2 for six.
  std::map<int, Level> levels;
  for (int day = 0; day < 10; ++day)
    if (auto database = open_day_for_reading(folder.file(day_file_name(20'513 + day)))) levels[day] = finest_level(*database).value();
  EXPECT_EQ(
      levels,
      (std::map<int, Level>{
          {3, Level::hour}, {4, Level::hour}, {5, Level::hour}, {6, Level::minute}, {7, Level::minute}, {8, Level::raw}, {9, Level::raw}}));
}

TEST(Store, AClockFarAheadExpiresNothing) {
  const StoreFolder folder;
  {
    const auto store = open_store(folder);
    const SeriesId node = store->series(energy_of("node"));
    add_seconds(*store, node, march_ms, 5, 1);
    add_seconds(*store, node, march_ms + 4000LL * 86'400'000, 5, 1);  // eleven years on, for a moment
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(store->flush());
  }
  auto database = open_day_for_reading(folder.file("day-2026-03-01.joules"));
  ASSERT_TRUE(database);
  EXPECT_EQ(finest_level(*database).value(), Level::raw);
}

TEST(Store, ADayThatWasLeftOpenIsFinishedLater) {
  const StoreFolder folder;
  {
    const auto store = open_store(folder);
    add_seconds(*store, store->series(energy_of("node")), march_ms + 86'399'000 - 30'000, 20, 1);
  }
  {
    const auto store = open_store(folder);
    add_seconds(*store, store->series(energy_of("node")), march_ms + 86'400'000, 20, 1);
    ASSERT_TRUE(store->flush());
  }
  auto database = open_day_for_reading(folder.file("day-2026-03-01.joules"));
  ASSERT_TRUE(database);
  EXPECT_EQ(database->integer("SELECT count(*) FROM tail").value(), 0);
  EXPECT_EQ(database->integer("SELECT count(*) FROM block").value(), 3);
  EXPECT_EQ(sums_of(ask(folder, march_ms, march_ms + 2 * 86'400'000LL, seconds(0))).at("node").held_ms, 40'000);
}

TEST(WholeCounts, LoseNothingInTotal) {
  WholeCounts counts(1000);
  std::int64_t sum = 0;
  for (int i = 1; i <= 1000; ++i) sum += counts.up_to(microjoules(i * 1'234'567LL));
  EXPECT_EQ(sum, 1'234'567);
  WholeCounts late(1000);
  late.start_at(microjoules(5'500));
  EXPECT_EQ(late.up_to(microjoules(6'000)), 1);
}

}  // namespace
}  // namespace joulery
