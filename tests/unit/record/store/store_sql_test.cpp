#include "record/store/store_sql.h"

#include "store_folder.h"

namespace joulery {
namespace {

using namespace test;

class Collect final : public SqlRows {
 public:
  void columns(std::span<const std::string> names) override { table.columns.assign(names.begin(), names.end()); }
  bool row(std::span<const SqlValue> values) override {
    table.rows.emplace_back(values.begin(), values.end());
    return true;
  }
  SqlTable table;
};

std::vector<std::vector<SqlValue>> select(const StoreFolder& folder, const std::string& sql) {
  Collect rows;
  const auto done = query_store(folder.store(), sql, rows);
  EXPECT_TRUE(done) << (done ? "" : done.error().line());
  return rows.table.rows;
}

// Two components for 5,400 s from 23:00 on: one count a second, and two; so two days, of which one is folded.
class StoreSql : public testing::Test {
 protected:
  void SetUp() override {
    const auto store = open_store(folder_);
    const StoreSample samples[] = {{store->series(energy_of("node")), 1}, {store->series(energy_of("node/gpu/0")), 2}};
    for (int i = 0; i < 5400; ++i) store->add(at_ms(begin_ms_ + (i + 1) * 1000), seconds(1), samples);
    ASSERT_TRUE(store->flush());
  }
  StoreFolder folder_;
  const std::int64_t begin_ms_ = march_ms + 23 * 3'600'000LL;
};

TEST_F(StoreSql, EveryLevelHasTheSameSum) {
  for (const std::string table : {"rows", "minutes", "hours"}) {
    const auto rows =
        select(folder_, "SELECT labels->>'component', sum(count), sum(held_s), count(*) FROM " + table + " GROUP BY 1 ORDER BY 1");
    ASSERT_EQ(rows.size(), 2u) << table;
    EXPECT_EQ(rows[0][0], SqlValue("node"));
    EXPECT_EQ(rows[0][1], SqlValue(std::int64_t{5400}));
    EXPECT_EQ(rows[1][1], SqlValue(std::int64_t{10'800}));
    EXPECT_EQ(rows[1][2], SqlValue(5400.0));
    EXPECT_EQ(rows[1][3], SqlValue(std::int64_t{table == "rows" ? 5400 : table == "minutes" ? 90 : 2}));
  }
}

TEST_F(StoreSql, NameAndTimeNarrow) {
  const std::string at = std::to_string((begin_ms_ + 3'600'000) / 1000);
  const auto rows = select(folder_, "SELECT sum(value) FROM minutes WHERE name='component_joules' AND time_s >= " + at);
  EXPECT_DOUBLE_EQ(std::get<double>(rows.at(0).at(0)), 1800 * 3 * 0.001);
  EXPECT_EQ(select(folder_, "SELECT * FROM rows WHERE name='nothing'").size(), 0u);
  EXPECT_EQ(select(folder_, "SELECT name, unit, kind FROM series").size(), 2u);
}

TEST_F(StoreSql, NothingButReading) {
  Collect rows;
  for (const char* sql : {"DELETE FROM rows", "ATTACH 'x' AS y", "CREATE TABLE z(a)", "PRAGMA user_version=3", "SELECT 1; SELECT 2", ""}) {
    const auto done = query_store(folder_.store(), sql, rows);
    ASSERT_FALSE(done) << sql;
    EXPECT_EQ(done.error().code, ErrorCode::usage) << sql;
  }
  EXPECT_EQ(query_store(folder_.store() + "/absent", "SELECT 1", rows).error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace joulery
