#include "record/import/cells.h"

#include <gtest/gtest.h>

#include "record/import/wall_clock.h"

namespace joulery {
namespace {

TEST(Cells, NumbersMayCarryAUnit) {
  EXPECT_EQ(number_in("61.23"), 61.23);
  EXPECT_EQ(number_in(" 61.23 W "), 61.23);
  EXPECT_EQ(number_in("81559 MiB"), 81559.0);
  EXPECT_EQ(number_in("0 %"), 0.0);
}

TEST(Cells, WordsForNoNumberAreReasons) {
  for (const char* cell : {"[N/A]", "N/A", "[Not Supported]", "", "N/A (Secondary die)", "<not supported>",
                           "Requested functionality has been deprecated", "[Requested functionality has been deprecated]"})
    EXPECT_EQ(number_in(cell).error(), MissingReason::not_supported) << cell;
  for (const char* cell : {"ERR!", "[Unknown Error]", "<not counted>"}) EXPECT_EQ(number_in(cell).error(), MissingReason::io_error) << cell;
  EXPECT_EQ(number_in("[GPU is lost]").error(), MissingReason::device_lost);
  EXPECT_EQ(number_in("[Insufficient Permissions]").error(), MissingReason::permission);
}

TEST(Cells, AnythingElseIsRubbish) {
  for (const char* cell : {"0x0000000000000001", "12,5", "1e999", "nan", "inf", "1.2.3", "Active", "12 parsecs away"})
    EXPECT_EQ(number_in(cell).error(), MissingReason::rubbish) << cell;
  EXPECT_EQ(value_in("-3", 1e-3).reason, MissingReason::rubbish);
  EXPECT_EQ(value_in("1e300", 1e-3).reason, MissingReason::rubbish);
}

TEST(Cells, QuotesHoldSeparators) {
  EXPECT_EQ(split_cells(R"(a, "b, ""c""" ,d,)", ','), (std::vector<std::string>{"a", R"(b, "c")", "d", ""}));
}

TEST(WallClock, EveryFormOfTheSameMoment) {
  // date -u -d '2026-04-10T10:23:01Z' +%s
  constexpr std::int64_t s = 1775816581;
  for (const char* text : {"2026/04/10 10:23:01", "04-10-2026 10:23:01", "Fri Apr 10 10:23:01 2026", "2026-04-10T10:23:01",
                           "2026-04-10T12:23:01+02:00", "2026-04-10 10:23:01Z", "1775816581", "1775816581000"}) {
    const auto at = parse_wall_time(text, Duration{});
    ASSERT_TRUE(at) << text;
    EXPECT_EQ(at->ns, s * 1'000'000'000) << text;
  }
  EXPECT_EQ(parse_wall_time("1688840908467478", seconds(3600))->ns, 1688840908467478000);
  EXPECT_EQ(parse_wall_time("2026/04/10 11:23:01.236", seconds(3600))->ns, s * 1'000'000'000 + 236'000'000);
}

TEST(WallClock, WhatIsNoTimeIsNone) {
  for (const char* text : {"", "yesterday", "2026-02-30T10:00:00", "2026-04-10T25:00:00", "10:00", "12", "1e400", "2026/04/10 10:23:01 W",
                           "9999-01-01T00:00:00"})
    EXPECT_FALSE(parse_wall_time(text, Duration{})) << text;
}

TEST(WallClock, OffsetsFromUtc) {
  EXPECT_EQ(*parse_utc_offset("+01:00"), seconds(3600));
  EXPECT_EQ(*parse_utc_offset("-0530"), seconds(-19800));
  EXPECT_EQ(*parse_utc_offset("Z"), Duration{});
  for (const char* text : {"", "1", "+25:00", "+1:", "+01:75", "CET"}) EXPECT_FALSE(parse_utc_offset(text)) << text;
  EXPECT_EQ(offset_text(seconds(-19800)), "UTC-05:30");
}

}  // namespace
}  // namespace joulery
