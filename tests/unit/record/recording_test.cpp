#include "record/recording.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>

#include "tests/unit/record/sample_run.h"

namespace joulery {
namespace {

const Metadata metadata = {{"command", "[\"true\"]"}, {"version", "\"0.1.0\""}};

TEST(Recording, KeepsDevicesAndMetadata) {
  TemporaryFolder folder;
  const auto path = folder.file("a.joulery");
  auto writer = RecordingWriter::create(path, two_devices(), metadata);
  ASSERT_TRUE(writer) << writer.error().line();
  (*writer)->set("exit_code", "0");
  ASSERT_TRUE((*writer)->close());
  EXPECT_FALSE(std::filesystem::exists(path + "-wal"));

  auto recording = Recording::open(path);
  ASSERT_TRUE(recording) << recording.error().line();
  EXPECT_EQ((*recording)->metadata(), (Metadata{{"command", "[\"true\"]"}, {"version", "\"0.1.0\""}, {"exit_code", "0"}}));
  const auto expected = two_devices();
  ASSERT_EQ((*recording)->devices().size(), expected.size());
  for (std::size_t d = 0; d < expected.size(); ++d) {
    const auto& device = (*recording)->devices()[d];
    EXPECT_EQ(device.kind, expected[d].kind);
    EXPECT_EQ(device.name, expected[d].name);
    EXPECT_EQ(device.interval, expected[d].interval);
    EXPECT_EQ(device.channels, expected[d].channels);
  }
  ASSERT_TRUE((*recording)->clock_maps());
  EXPECT_GE((*recording)->clock_maps()->size(), 1u);
}

// Rounds in each of the states that a row passes through: tails, one tail rewritten, a chunk, chunks and tails.
TEST(Recording, RoundsComeBackWhateverTheirNumber) {
  for (const std::int64_t rounds : {0, 1, 10, 255, 256, 257, 4095, 4096, 4097, 9000}) {
    for (const std::int64_t per_flush : {7, 256, 5000}) {
      TemporaryFolder folder;
      auto writer = RecordingWriter::create(folder.file("a"), two_devices(), metadata);
      ASSERT_TRUE(writer);
      for (std::int64_t i = 0; i < rounds; ++i) {
        add_round(**writer, 1, 2, i);
        if (i % per_flush == per_flush - 1) { ASSERT_TRUE((*writer)->flush()); }
      }
      ASSERT_TRUE((*writer)->flush());
      const auto check = [&] {
        auto recording = Recording::open(folder.file("a"));
        ASSERT_TRUE(recording) << recording.error().line();
        const auto series = (*recording)->series(1);
        ASSERT_TRUE(series);
        ASSERT_EQ(series->before.size(), static_cast<std::size_t>(rounds));
        ASSERT_EQ(series->columns.size(), 2u);
        for (std::int64_t i = 0; i < rounds; ++i) {
          const auto row = static_cast<std::size_t>(i);
          ASSERT_EQ(series->before[row].ns, 5'000'150'000 + i * 100'000'000);
          ASSERT_EQ(series->after[row].ns, 5'000'190'000 + i * 100'000'000);
          ASSERT_EQ(series->columns[0].raw[row], 1000 * i);
          ASSERT_EQ(series->columns[1].raw[row], 1000 * i + 1);
        }
        EXPECT_TRUE(series->columns[0].reason.empty());
        EXPECT_TRUE((*recording)->series(0)->before.empty());
        EXPECT_TRUE((*recording)->events()->empty());
      };
      check();  // as a reader beside a living writer sees it
      ASSERT_TRUE((*writer)->close());
      check();
    }
  }
}

// What a random run put in, one row per round, to compare with what comes out.
struct Expected {
  std::vector<std::int64_t> before, after;
  std::vector<std::vector<std::int64_t>> raw;
  std::vector<std::vector<MissingReason>> reason;
};

std::int64_t floor_to_microseconds(std::int64_t ns) { return (ns >= 0 ? ns / 1000 : (ns - 999) / 1000) * 1000; }
std::int64_t ceil_to_microseconds(std::int64_t ns) { return -floor_to_microseconds(-ns); }

rc::Gen<Reading> any_reading(MonoTime before, MonoTime after) {
  return rc::gen::map(rc::gen::pair(rc::gen::arbitrary<std::int64_t>(), rc::gen::weightedElement<int>({{12, 0}, {1, 1}, {1, 4}, {1, 7}})),
                      [=](const std::pair<std::int64_t, int>& made) {
                        const auto reason = static_cast<MissingReason>(made.second);
                        return Reading{reason == MissingReason::none ? made.first : 0, reason, before, after};
                      });
}

// Any raw values (a full-range counter, wraps and all), any reasons, any times, flushed at any moment.
RC_GTEST_PROP(Recording, AnyRoundsComeBack, ()) {
  TemporaryFolder folder;
  auto devices = two_devices();
  auto writer = RecordingWriter::create(folder.file("a"), devices, metadata);
  RC_ASSERT(writer.has_value());
  std::vector<Expected> expected(devices.size());
  for (std::size_t d = 0; d < devices.size(); ++d) {
    expected[d].raw.resize(devices[d].channels.size());
    expected[d].reason.resize(devices[d].channels.size());
  }
  const auto rounds = *rc::gen::inRange(0, 600);
  for (int i = 0; i < rounds; ++i) {
    const auto d = *rc::gen::inRange<std::size_t>(0, devices.size());
    const MonoTime due{*rc::gen::inRange<std::int64_t>(-1'000'000'000'000, 4'000'000'000'000'000)};
    const MonoTime before = due + nanoseconds(*rc::gen::inRange<std::int64_t>(-1000, 1'000'000'000));
    const MonoTime after = before + nanoseconds(*rc::gen::inRange<std::int64_t>(0, 1'000'000'000));
    std::vector<Reading> readings;
    for (std::size_t c = 0; c < devices[d].channels.size(); ++c) {
      readings.push_back(*any_reading(before, after));
      expected[d].raw[c].push_back(readings.back().raw);
      expected[d].reason[c].push_back(readings.back().reason);
    }
    expected[d].before.push_back(floor_to_microseconds(before.ns));
    expected[d].after.push_back(ceil_to_microseconds(after.ns));
    (*writer)->add(Round{d, due, readings});
    if (*rc::gen::inRange(0, 50) == 0) RC_ASSERT((*writer)->flush().has_value());
  }
  const auto finish = *rc::gen::arbitrary<bool>() ? (*writer)->close() : (*writer)->flush();
  RC_ASSERT(finish.has_value());

  auto recording = Recording::open(folder.file("a"));
  RC_ASSERT(recording.has_value());
  for (std::size_t d = 0; d < devices.size(); ++d) {
    const auto series = (*recording)->series(d);
    RC_ASSERT(series.has_value());
    std::vector<std::int64_t> before, after;
    for (const auto t : series->before) before.push_back(t.ns);
    for (const auto t : series->after) after.push_back(t.ns);
    RC_ASSERT(before == expected[d].before);
    RC_ASSERT(after == expected[d].after);
    for (std::size_t c = 0; c < devices[d].channels.size(); ++c) {
      const auto& column = series->columns[c];
      const auto& reason = expected[d].reason[c];
      const bool any = std::any_of(reason.begin(), reason.end(), [](auto r) { return r != MissingReason::none; });
      RC_ASSERT(column.raw == expected[d].raw[c]);
      RC_ASSERT(column.reason == (any ? reason : std::vector<MissingReason>{}));
    }
  }
}

// A counter of 64 bits that wraps past zero, read at 10 Hz: the raw bits stay what they were.
TEST(Recording, AFullRangeCounterKeepsItsBits) {
  TemporaryFolder folder;
  auto writer = RecordingWriter::create(folder.file("a"), two_devices(), metadata);
  ASSERT_TRUE(writer);
  std::vector<std::int64_t> raw;
  std::uint64_t counter = 0xffff'ffff'ffff'0000u;
  for (int i = 0; i < 5000; ++i) {
    const MonoTime at = MonoTime{} + milliseconds(100 * i);
    const Reading reading{static_cast<std::int64_t>(counter), MissingReason::none, at, at + nanoseconds(1)};
    raw.push_back(reading.raw);
    counter += 1'000'003;
    (*writer)->add(Round{0, at, std::span(&reading, 1)});
  }
  ASSERT_TRUE((*writer)->close());
  const auto series = (*Recording::open(folder.file("a")))->series(0);
  ASSERT_TRUE(series);
  EXPECT_EQ(series->columns[0].raw, raw);
  EXPECT_EQ(series->before[3].ns, 300'000'000);
  EXPECT_EQ(series->after[3].ns, 300'001'000);  // rounded up to a whole microsecond
}

// A meter that reports fewer channels than it promised: the rest is `gone`.
TEST(Recording, AShortRoundLacksItsLastChannels) {
  TemporaryFolder folder;
  auto writer = RecordingWriter::create(folder.file("a"), two_devices(), metadata);
  ASSERT_TRUE(writer);
  const Reading reading{7, MissingReason::none, {1000}, {2000}};
  (*writer)->add(Round{1, {0}, std::span(&reading, 1)});
  ASSERT_TRUE((*writer)->close());
  const auto series = (*Recording::open(folder.file("a")))->series(1);
  ASSERT_TRUE(series);
  EXPECT_TRUE(series->columns[0].reason.empty());
  EXPECT_EQ(series->columns[1].reason, std::vector{MissingReason::gone});
}

bool same(const Mark& a, const Mark& b) {
  return a.time == b.time && a.pid == b.pid && a.tid == b.tid && a.kind == b.kind && a.name == b.name &&
         std::bit_cast<std::uint64_t>(a.value) == std::bit_cast<std::uint64_t>(b.value);
}

RC_GTEST_PROP(Recording, AnyMarksComeBackByTime, ()) {
  TemporaryFolder folder;
  auto writer = RecordingWriter::create(folder.file("a"), two_devices(), metadata);
  RC_ASSERT(writer.has_value());
  std::vector<Mark> marks;
  const auto count = *rc::gen::inRange(0, 700);
  for (int i = 0; i < count; ++i) {
    Mark mark;
    mark.time = {*rc::gen::inRange<std::int64_t>(0, 1'000'000)};
    mark.pid = *rc::gen::arbitrary<std::int32_t>();
    mark.tid = *rc::gen::arbitrary<std::int32_t>();
    mark.kind = static_cast<MarkKind>(*rc::gen::inRange(0, 5));
    mark.name = *rc::gen::element<std::string>("step", "epoch", "", "a name with\nanything \xc3\xa9");
    mark.value = std::bit_cast<double>(*rc::gen::arbitrary<std::uint64_t>());
    (*writer)->add(mark);
    marks.push_back(mark);
    if (*rc::gen::inRange(0, 100) == 0) RC_ASSERT((*writer)->flush().has_value());
  }
  RC_ASSERT((*writer)->flush().has_value());
  std::stable_sort(marks.begin(), marks.end(), [](const Mark& a, const Mark& b) { return a.time < b.time; });
  const auto read = (*Recording::open(folder.file("a")))->marks();
  RC_ASSERT(read.has_value());
  RC_ASSERT(std::equal(read->begin(), read->end(), marks.begin(), marks.end(), same));
}

TEST(Recording, TenThousandMarksComeBack) {
  TemporaryFolder folder;
  auto writer = RecordingWriter::create(folder.file("a"), two_devices(), metadata);
  ASSERT_TRUE(writer);
  for (int i = 0; i < 10'000; ++i) {
    (*writer)->add(Mark{{i * 1000}, 1, 2, i % 2 == 0 ? MarkKind::step_begin : MarkKind::step_end, "step", 64.0});
    if (i % 300 == 0) { ASSERT_TRUE((*writer)->flush()); }
  }
  ASSERT_TRUE((*writer)->close());
  const auto marks = (*Recording::open(folder.file("a")))->marks();
  ASSERT_TRUE(marks);
  ASSERT_EQ(marks->size(), 10'000u);
  for (int i = 0; i < 10'000; ++i) ASSERT_EQ((*marks)[static_cast<std::size_t>(i)].time.ns, i * 1000);
}

TEST(Recording, WhoUsedADeviceComesBackWithWhatItDidNotTell) {
  TemporaryFolder folder;
  auto writer = RecordingWriter::create(folder.file("a"), two_devices(), metadata);
  ASSERT_TRUE(writer);
  (*writer)->add(DeviceProcessSample{1, {100}, {4711, Component("node/gpu/0"), 1 << 20, 0.5, 0.25, 0.0, {}}});
  ASSERT_TRUE((*writer)->flush());
  (*writer)->add(DeviceProcessSample{1, {200}, {4712, Component("node/gpu/0/mig-3"), {}, {}, {}, {}, {}}});
  ASSERT_TRUE((*writer)->close());

  auto recording = Recording::open(folder.file("a"));
  ASSERT_TRUE(recording);
  const auto users = (*recording)->device_processes();
  ASSERT_TRUE(users);
  ASSERT_EQ(users->size(), 2u);
  EXPECT_EQ((*users)[0].device, 1u);
  EXPECT_EQ((*users)[0].time.ns, 100);
  EXPECT_EQ((*users)[0].process.pid, 4711);
  EXPECT_EQ((*users)[0].process.memory, 1 << 20);
  EXPECT_EQ((*users)[0].process.busy, 0.5);
  EXPECT_EQ((*users)[0].process.encoder, 0.0);
  EXPECT_EQ((*users)[0].process.decoder, std::nullopt);
  EXPECT_EQ((*users)[1].process.component.path(), "node/gpu/0/mig-3");
  EXPECT_EQ((*users)[1].process.busy, std::nullopt);
}

TEST(Recording, ProcessesEventsAndClocksComeBackInOrder) {
  TemporaryFolder folder;
  auto writer = RecordingWriter::create(folder.file("a"), two_devices(), metadata);
  ASSERT_TRUE(writer);
  const auto sample = [](std::int32_t pid, std::int64_t start, const char* name, std::int64_t t, std::int64_t cpu) {
    return ProcessSample{{pid, start}, 1, name, {t}, nanoseconds(cpu)};
  };
  (*writer)->add(sample(9, 100, "late", 300, 5));
  (*writer)->add(sample(7, 200, "reused pid", 200, 1));
  (*writer)->add(sample(7, 50, "sh", 100, 10));
  ASSERT_TRUE((*writer)->flush());
  (*writer)->add(sample(7, 50, "python3", 150, 20));  // the same process after exec
  (*writer)->add(RecordedEvent{{{500}, {600}}, "suspended", "lid", 1});
  (*writer)->add(RecordedEvent{{{100}, {200}}, "rounds missed", "", 3});
  (*writer)->add(ClockMap{{1}, {2}, {3}});
  ASSERT_TRUE((*writer)->close());

  auto recording = Recording::open(folder.file("a"));
  ASSERT_TRUE(recording);
  const auto processes = (*recording)->processes();
  ASSERT_TRUE(processes);
  ASSERT_EQ(processes->size(), 4u);
  const std::vector<std::string> names = {"sh", "python3", "reused pid", "late"};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ((*processes)[i].name, names[i]);
  EXPECT_EQ((*processes)[1].cpu, nanoseconds(20));
  EXPECT_EQ((*processes)[1].id, (ProcessId{7, 50}));
  const auto events = (*recording)->events();
  ASSERT_TRUE(events);
  ASSERT_EQ(events->size(), 2u);
  EXPECT_EQ((*events)[0].kind, "rounds missed");
  EXPECT_EQ((*events)[0].count, 3);
  EXPECT_EQ((*events)[1].when, (Interval{{500}, {600}}));
  EXPECT_EQ((*events)[1].detail, "lid");
  const auto clocks = (*recording)->clock_maps();
  ASSERT_TRUE(clocks);
  ASSERT_EQ(clocks->size(), 2u);
  EXPECT_EQ(clocks->front().wall.ns, 3);
}

}  // namespace
}  // namespace joulery
