#include "record/store/store_sql.h"

#include <sqlite3.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "record/select.h"
#include "record/store/day_scan.h"
#include "record/store/store_reader.h"
#include "record/virtual_table.h"

namespace joulery {
namespace {

enum Column { name, labels, unit, kind, time_s, count, value, held_s };

std::string json_of(const std::map<std::string, std::string>& labels) {
  return nlohmann::json(labels).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void give_key(const SeriesKey& key, const std::string& json, int column, sqlite3_context* result) {
  if (column == name) return give_text(result, key.name);
  if (column == labels) return give_text(result, json);
  if (column == unit) return sqlite3_result_double(result, key.unit);
  give_text(result, key.kind == SeriesKind::sum ? "sum" : "mean");
}

class SeriesCursor final : public TableCursor {
 public:
  explicit SeriesCursor(const StoreReader& reader) : reader_(reader) {}
  Result<void> start(const std::vector<Filter>&, std::uint64_t) override {
    constexpr std::int64_t end = std::numeric_limits<std::int64_t>::max();
    auto keys = reader_.list({}, {-end}, {end});
    if (!keys) return std::unexpected(keys.error());
    keys_ = std::move(*keys);
    at_ = 0;
    return {};
  }
  Result<void> advance() override {
    ++at_;
    return {};
  }
  bool done() const override { return at_ >= keys_.size(); }
  void give(int column, sqlite3_context* result) const override { give_key(keys_[at_], json_of(keys_[at_].labels), column, result); }

 private:
  const StoreReader& reader_;
  std::vector<SeriesKey> keys_;
  std::size_t at_ = 0;
};

class SeriesTable final : public VirtualTable {
 public:
  explicit SeriesTable(const StoreReader& reader) : reader_(reader) {}
  const char* declaration() const override { return "CREATE TABLE x(name TEXT, labels TEXT, unit REAL, kind TEXT)"; }
  bool can_filter(int) const override { return false; }
  std::unique_ptr<TableCursor> cursor() const override { return std::make_unique<SeriesCursor>(reader_); }

 private:
  const StoreReader& reader_;
};

struct LevelRow {
  std::int64_t number, begin_ms, count, held_ms;
};

// Takes rows of a batch of series.
class Batch final : public RowSink {
 public:
  void rows(const ScannedRows& rows) override {
    if (rows.number == 0) return;
    for (std::size_t i = 0; i < rows.counts.size(); ++i) rows_.push_back({rows.number, rows.begin_ms[i], rows.counts[i], rows.held_ms[i]});
  }
  // By series, then time; rows of a slot become one.
  void put_in_order(bool join) {
    const auto place = [](const LevelRow& row) { return std::pair(row.number, row.begin_ms); };
    std::stable_sort(rows_.begin(), rows_.end(), [&](const LevelRow& a, const LevelRow& b) { return place(a) < place(b); });
    if (!join) return;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (kept > 0 && place(rows_[kept - 1]) == place(rows_[i])) {
        LevelRow& one = rows_[kept - 1];
        one.count = static_cast<std::int64_t>(static_cast<std::uint64_t>(one.count) + static_cast<std::uint64_t>(rows_[i].count));
        one.held_ms += rows_[i].held_ms;
      } else {
        rows_[kept++] = rows_[i];
      }
    }
    rows_.resize(kept);
  }
  std::vector<LevelRow> rows_;
};

// So many series are unpacked at once: a day of rows is 86,400 of each.
constexpr std::size_t batch_of(Level level) { return level == Level::raw ? 16 : 512; }

class LevelCursor final : public TableCursor {
 public:
  LevelCursor(const StoreReader& reader, Level level) : reader_(reader), level_(level) {}
  Result<void> start(const std::vector<Filter>& filters, std::uint64_t used) override;
  Result<void> advance() override { return ++at_ < batch_.rows_.size() ? Result<void>{} : next_batch(); }
  bool done() const override { return at_ >= batch_.rows_.size(); }
  void give(int column, sqlite3_context* result) const override;

 private:
  Result<void> next_batch();
  Result<bool> next_day();
  Result<void> read_batch();
  void narrow(const Filter& filter);

  const StoreReader& reader_;
  const Level level_;
  StoreTools tools_;
  std::optional<std::string> name_;
  double from_ms_ = 0, to_ms_ = 0;
  std::size_t next_day_ = 0, next_series_ = 0, at_ = 0;
  std::optional<Database> day_;
  std::int64_t day_begin_ms_ = 0;
  struct Series {
    SeriesKey key;
    std::string json;
  };
  std::map<std::int64_t, Series> keys_;  // of the day, by number
  std::vector<std::int64_t> numbers_;
  SeriesKinds kinds_;
  Batch batch_;
};

void LevelCursor::narrow(const Filter& filter) {
  if (filter.column == name && filter.how == Comparison::equal && sqlite3_value_type(filter.value) == SQLITE_TEXT) {
    const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(filter.value));
    name_ = std::string(text, static_cast<std::size_t>(sqlite3_value_bytes(filter.value)));
  }
  const int type = sqlite3_value_numeric_type(filter.value);
  if (filter.column != time_s || (type != SQLITE_INTEGER && type != SQLITE_FLOAT)) return;
  const double ms = sqlite3_value_double(filter.value) * 1e3;
  if (filter.how != Comparison::less) from_ms_ = std::max(from_ms_, ms - 1);  // a millisecond more, for rounding
  if (filter.how != Comparison::greater) to_ms_ = std::min(to_ms_, ms + 1);
}

Result<void> LevelCursor::start(const std::vector<Filter>& filters, std::uint64_t) {
  name_.reset();
  from_ms_ = -std::numeric_limits<double>::infinity();
  to_ms_ = std::numeric_limits<double>::infinity();
  for (const Filter& filter : filters) narrow(filter);
  next_day_ = 0;
  day_.reset();
  numbers_.clear();
  next_series_ = 0;
  return next_batch();
}

// Opens the next day that is wanted and keeps this level. A day that cannot be read has no rows.
Result<bool> LevelCursor::next_day() {
  while (next_day_ < reader_.days().size()) {
    const std::int64_t day = reader_.days()[next_day_++];
    day_begin_ms_ = day * day_ms;
    if (static_cast<double>(day_begin_ms_ + day_ms) <= from_ms_ || static_cast<double>(day_begin_ms_) > to_ms_) continue;
    auto database = open_day_for_reading(reader_.folder() + "/" + day_file_name(day));
    if (!database && database.error().code == ErrorCode::newer_format) return std::unexpected(database.error());
    if (!database) continue;
    const auto finest = finest_level(*database);
    const auto catalogue = SeriesCatalogue::read(*database, tools_.squeezer);
    if (!finest || !catalogue || *finest > level_) continue;
    keys_.clear();
    numbers_.clear();
    next_series_ = 0;
    kinds_.clear();
    catalogue->each(name_.value_or(""), [&](std::int64_t number, const KeyView& key) {
      if (name_ && key.name != *name_) return;
      if (static_cast<std::size_t>(number) >= kinds_.size()) kinds_.resize(static_cast<std::size_t>(number) + 1, SeriesKind::sum);
      kinds_[static_cast<std::size_t>(number)] = key.kind;
      SeriesKey whole = owned(key);
      std::string json = json_of(whole.labels);
      keys_.emplace(number, Series{std::move(whole), std::move(json)});
      numbers_.push_back(number);
    });
    std::sort(numbers_.begin(), numbers_.end());
    day_.emplace(std::move(*database));
    return true;
  }
  day_.reset();
  return false;
}

Result<void> LevelCursor::read_batch() {
  const std::size_t end = std::min(next_series_ + batch_of(level_), numbers_.size());
  std::vector<std::int64_t> wanted(numbers_.begin() + static_cast<std::ptrdiff_t>(next_series_),
                                   numbers_.begin() + static_cast<std::ptrdiff_t>(end));
  next_series_ = end;
  const auto slot = static_cast<double>(slot_ms(level_));
  const double first = std::max(static_cast<double>(day_begin_ms_), from_ms_ - slot);
  const double last = std::min(static_cast<double>(day_begin_ms_ + day_ms), to_ms_ + slot);
  const auto begin_ms = floor_to(static_cast<std::int64_t>(first), slot_ms(level_)), end_ms = static_cast<std::int64_t>(std::ceil(last));
  DayScan scan(*day_, kinds_, std::move(wanted), tools_);
  if (auto done = scan.blocks(level_, begin_ms, end_ms, batch_); !done) return done;
  // Whole slots: a tail before the first would make half a slot, which the condition then excludes.
  if (auto done = scan.tails(level_, begin_ms, floor_to(end_ms + slot_ms(level_) - 1, slot_ms(level_)), batch_); !done) return done;
  batch_.put_in_order(level_ != Level::raw);
  return {};
}

Result<void> LevelCursor::next_batch() {
  at_ = 0;
  batch_.rows_.clear();
  while (batch_.rows_.empty()) {
    if (next_series_ >= numbers_.size()) {
      const auto more = next_day();
      if (!more) return std::unexpected(more.error());
      if (!*more) return {};
      continue;
    }
    if (auto done = read_batch(); !done) return done;
  }
  return {};
}

void LevelCursor::give(int column, sqlite3_context* result) const {
  const LevelRow& row = batch_.rows_[at_];
  const Series& of = keys_.at(row.number);
  if (column <= kind) return give_key(of.key, of.json, column, result);
  if (column == time_s) return sqlite3_result_double(result, static_cast<double>(row.begin_ms) * 1e-3);
  if (column == held_s) return sqlite3_result_double(result, static_cast<double>(row.held_ms) * 1e-3);
  const bool is_sum = of.key.kind == SeriesKind::sum;
  if (column == count && is_sum) return sqlite3_result_int64(result, row.count);
  if (column == value && is_sum) return sqlite3_result_double(result, static_cast<double>(row.count) * of.key.unit);
  const auto mean = rate_of(of.key, {{}, row.count, milliseconds(row.held_ms)});
  if (column == value && mean) sqlite3_result_double(result, *mean);
}

class LevelTable final : public VirtualTable {
 public:
  LevelTable(const StoreReader& reader, Level level) : reader_(reader), level_(level) {}
  const char* declaration() const override {
    return "CREATE TABLE x(name TEXT, labels TEXT, unit REAL, kind TEXT, time_s REAL, count INTEGER, value REAL, held_s REAL)";
  }
  bool can_filter(int column) const override { return column == name || column == time_s; }
  std::unique_ptr<TableCursor> cursor() const override { return std::make_unique<LevelCursor>(reader_, level_); }

 private:
  const StoreReader& reader_;
  const Level level_;
};

}  // namespace

Result<void> query_store(const std::string& folder, const std::string& sql, SqlRows& rows) {
  const auto reader = StoreReader::open(folder);
  if (!reader) return std::unexpected(reader.error());
  // Declared first, so that the tables outlive the connection that uses them.
  const SeriesTable series(*reader);
  const LevelTable raw(*reader, Level::raw), minutes(*reader, Level::minute), hours(*reader, Level::hour);
  auto database = Database::open_for_writing(":memory:");
  if (!database) return std::unexpected(database.error());
  const std::pair<const char*, const VirtualTable*> tables[] = {
      {"series", &series}, {"rows", &raw}, {"minutes", &minutes}, {"hours", &hours}};
  for (const auto& [called, table] : tables) {
    if (auto done = add_table(*database, called, *table); !done) return done;
    if (auto done = database->execute(std::string("SELECT 1 FROM \"") + called + "\" LIMIT 0"); !done) return done;
  }
  return select(*database, sql, rows);
}

}  // namespace joulery
