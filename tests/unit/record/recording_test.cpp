#include "record/recording.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

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
        if (i % per_flush == per_flush - 1) {
          ASSERT_TRUE((*writer)->flush());
        }
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

}  // namespace
}  // namespace joulery
