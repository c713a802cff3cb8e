#include "record/sql.h"

#include <gtest/gtest.h>

#include "tests/unit/record/sample_run.h"

namespace joulery {
namespace {

// Two devices, 5000 rounds of the second (a chunk and tails), reading 10 of its first channel missing; two marks.
class Sql : public ::testing::Test {
 protected:
  void SetUp() override {
    auto writer = RecordingWriter::create(path_, two_devices(), {{"command", "[]"}});
    ASSERT_TRUE(writer);
    for (std::int64_t i = 0; i < 10; ++i) add_round(**writer, 1, 2, i);
    const MonoTime due = MonoTime{5'000'000'000} + milliseconds(1000);
    const std::vector<Reading> faulty = {{0, MissingReason::io_error, due, due}, {10'001, MissingReason::none, due, due}};
    (*writer)->add(Round{1, due, faulty});
    for (std::int64_t i = 11; i < 5000; ++i) add_round(**writer, 1, 2, i);
    for (std::int64_t i = 0; i < 3; ++i) add_round(**writer, 0, 1, i);
    (*writer)->add(Mark{{5'000'000'000}, 3, 4, MarkKind::step_begin, "step", 64});
    (*writer)->add(Mark{{6'000'000'000}, 3, 4, MarkKind::step_end, "step", 0});
    (*writer)->add(ProcessSample{{3, 1}, 1, "python3", {5'500'000'000}, seconds(0.25)});
    (*writer)->add(DeviceProcessSample{1, {6'000'000'000}, {4711, Component("node/gpu/0"), 1024, 0.5, {}, {}, {}}});
    (*writer)->add(RecordedEvent{{{5'000'000'000}, {6'000'000'000}}, "suspended", "", 1});
    (*writer)->add(ClockMap{{4'000'000'000}, {4'000'000'000}, {0}});  // the earliest crossing: t_s counts from 4 s
    ASSERT_TRUE((*writer)->flush());
    writer_ = std::move(*writer);
  }

  // The only value of a one-row answer.
  SqlValue one(const std::string& sql) {
    const auto answer = query(path_, sql);
    if (!answer || answer->rows.size() != 1) {
      ADD_FAILURE() << sql << ": " << (answer ? std::to_string(answer->rows.size()) + " rows" : answer.error().line());
      return {};
    }
    return answer->rows[0][0];
  }

  TemporaryFolder folder_;
  std::string path_ = folder_.file("a.joulery");
  std::unique_ptr<RecordingWriter> writer_;
};

TEST_F(Sql, SamplesAreDecoded) {
  const auto answer = query(path_, "SELECT * FROM samples WHERE device='gpu-0' AND channel='power' ORDER BY mono_ns LIMIT 2");
  ASSERT_TRUE(answer) << answer.error().line();
  EXPECT_EQ(answer->columns,
            (std::vector<std::string>{"device", "kind", "channel", "component", "t_s", "mono_ns", "raw", "value", "unit", "missing"}));
  ASSERT_EQ(answer->rows.size(), 2u);
  const auto& row = answer->rows[1];
  EXPECT_EQ(row[0], SqlValue("gpu-0"));
  EXPECT_EQ(row[1], SqlValue("nvml"));
  EXPECT_EQ(row[3], SqlValue("node/gpu/0"));
  EXPECT_DOUBLE_EQ(std::get<double>(row[4]), 1.10015);  // due at 5.1 s, read 150 us later, since 4 s
  EXPECT_EQ(row[5], SqlValue(std::int64_t{5'100'150'000}));
  EXPECT_EQ(row[6], SqlValue(std::int64_t{1000}));
  EXPECT_DOUBLE_EQ(std::get<double>(row[7]), 1.0);  // 1000 mW
  EXPECT_EQ(row[8], SqlValue("W"));
  EXPECT_EQ(row[9], SqlValue());
}

TEST_F(Sql, EverySampleIsThereOnce) {
  EXPECT_EQ(one("SELECT count(*) FROM samples"), SqlValue(std::int64_t{2 * 5000 + 3}));
  EXPECT_EQ(one("SELECT count(DISTINCT mono_ns) FROM samples WHERE device='gpu-0' AND channel='power'"), SqlValue(std::int64_t{5000}));
  EXPECT_EQ(one("SELECT sum(raw) FROM samples WHERE channel='busy'"), SqlValue(std::int64_t{1000LL * 4999 * 5000 / 2 + 5000}));
}

TEST_F(Sql, FiltersGiveWhatTheyGiveWithoutPushingDown) {
  // The unary plus keeps SQLite from handing a condition to the table.
  for (const std::string condition : {"device='gpu-0'", "kind='rapl.powercap'", "channel='busy'", "component='node/gpu/0'", "t_s<2.5",
                                      "t_s>=400", "t_s BETWEEN 100 AND 101", "mono_ns=5100150000", "mono_ns>5100150000", "device='nothing'",
                                      "device=7", "device='GPU-0' COLLATE NOCASE", "t_s<'x'", "channel='power' AND t_s>410.59"}) {
    std::string plain = condition;
    for (const std::string name : {"device", "kind", "channel", "component", "t_s", "mono_ns"}) {
      if (const auto at = plain.find(name); at != std::string::npos) plain.insert(at, "+");
    }
    EXPECT_EQ(one("SELECT count(*) || ',' || coalesce(sum(raw),'') FROM samples WHERE " + condition),
              one("SELECT count(*) || ',' || coalesce(sum(raw),'') FROM samples WHERE " + plain))
        << condition;
  }
}

TEST_F(Sql, AMissingValueIsNullWithItsReason) {
  const auto answer = query(path_, "SELECT raw, value, missing, t_s FROM samples WHERE missing IS NOT NULL");
  ASSERT_TRUE(answer);
  ASSERT_EQ(answer->rows.size(), 1u);
  EXPECT_EQ(answer->rows[0][0], SqlValue());
  EXPECT_EQ(answer->rows[0][1], SqlValue());
  EXPECT_EQ(answer->rows[0][2], SqlValue("read failed"));
  EXPECT_EQ(one("SELECT count(*) FROM samples WHERE value IS NULL"), SqlValue(std::int64_t{1}));
}

TEST_F(Sql, MarksProcessesAndEventsAreTables) {
  const auto marks = query(path_, "SELECT t_s, pid, tid, kind, name, value FROM marks");
  ASSERT_TRUE(marks);
  ASSERT_EQ(marks->rows.size(), 2u);
  EXPECT_EQ(marks->rows[0], (std::vector<SqlValue>{1.0, std::int64_t{3}, std::int64_t{4}, "step_begin", "step", 64.0}));
  EXPECT_EQ(one("SELECT name || cpu_s FROM processes"), SqlValue("python30.25"));
  EXPECT_EQ(one("SELECT end_s - begin_s FROM events"), SqlValue(1.0));
  EXPECT_EQ(one("SELECT t_s || ' ' || component || ' ' || busy FROM device_processes WHERE memory_busy IS NULL"),
            SqlValue("2.0 node/gpu/0 0.5"));
  EXPECT_EQ(one("SELECT json FROM metadata WHERE name='command'"), SqlValue("[]"));
  // Joined: readings of the first step.
  EXPECT_EQ(one("SELECT count(*) FROM samples s JOIN marks b ON b.kind='step_begin' JOIN marks e ON e.kind='step_end'"
                " WHERE s.channel='power' AND s.mono_ns >= b.mono_ns AND s.mono_ns < e.mono_ns"),
            SqlValue(std::int64_t{10}));
}

TEST_F(Sql, OnlyReadingIsAllowed) {
  const std::string other = folder_.file("other.db");
  const std::vector<std::string> refused = {"DELETE FROM metadata",
                                            "INSERT INTO metadata VALUES('a','b')",
                                            "DROP TABLE chunk",
                                            "ATTACH '" + other + "' AS other",
                                            "VACUUM INTO '" + other + "'",
                                            "PRAGMA journal_mode=DELETE",
                                            "PRAGMA query_only=0",
                                            "SELECT load_extension('x')",
                                            "CREATE TEMP TABLE t(x)",
                                            "SELECT 1; SELECT 2",
                                            "",
                                            "BEGIN",
                                            "SELEKT 1",
                                            "SELECT nothing FROM samples",
                                            "DELETE FROM samples"};
  for (const auto& sql : refused) {
    const auto answer = query(path_, sql);
    ASSERT_FALSE(answer) << sql;
    EXPECT_EQ(answer.error().code, ErrorCode::usage) << sql;
    EXPECT_FALSE(answer.error().what.empty());
  }
  EXPECT_FALSE(std::filesystem::exists(other));
  EXPECT_EQ(one("SELECT count(*) FROM metadata"), SqlValue(std::int64_t{1}));
}

TEST_F(Sql, AReaderStopsWhenItHasEnough) {
  struct First final : SqlRows {
    void columns(std::span<const std::string> names) override { width = names.size(); }
    bool row(std::span<const SqlValue>) override { return ++rows < 5; }
    std::size_t width = 0, rows = 0;
  } first;
  ASSERT_TRUE(query(path_, "SELECT t_s, value FROM samples", first));
  EXPECT_EQ(first.width, 2u);
  EXPECT_EQ(first.rows, 5u);
}

TEST_F(Sql, AMissingFileIsAnError) {
  const auto answer = query(folder_.file("none"), "SELECT 1");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace joulery
