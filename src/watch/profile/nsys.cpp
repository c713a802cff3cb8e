#include "watch/profile/nsys.h"

#include <sqlite3.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <set>
#include <vector>

#include "watch/profile/nvtx_ranges.h"
#include "watch/profile/profile_builder.h"

namespace joulery {
namespace {

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
};
struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;
using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

// Where events are: the columns that are wanted, those in front are needed. Missing ones read as NULL.
struct Table {
  const char* name;
  EventKind kind;
  std::vector<const char*> columns;
  std::size_t needed;
};

// The columns of each kind, in this order: start, end, name (text's id or none), device, stream, correlation, global pid or tid, bytes.
const Table tables[] = {
    {"CUPTI_ACTIVITY_KIND_KERNEL",
     EventKind::kernel,
     {"start", "end", "shortName", "deviceId", "streamId", "correlationId", "globalPid", nullptr},
     5},
    {"CUPTI_ACTIVITY_KIND_MEMCPY",
     EventKind::copy,
     {"start", "end", nullptr, "deviceId", "streamId", "correlationId", "globalPid", "bytes"},
     2},
    {"CUPTI_ACTIVITY_KIND_MEMSET",
     EventKind::copy,
     {"start", "end", nullptr, "deviceId", "streamId", "correlationId", "globalPid", "bytes"},
     2},
    {"CUPTI_ACTIVITY_KIND_RUNTIME",
     EventKind::runtime,
     {"start", "end", "nameId", nullptr, nullptr, "correlationId", "globalTid", nullptr},
     3},
    {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
     EventKind::sync,
     {"start", "end", nullptr, "deviceId", "streamId", "correlationId", "globalPid", nullptr},
     2},
};
enum Column { start, end, name, device, stream, correlation, global, bytes };

constexpr int push_pop_range = 59;                    // of NVTX_EVENTS.eventType
constexpr std::int64_t id_span = 0x1000000;           // globalTid = ... pid * span + tid

bool is_wait(std::string_view call) {
  return call.find("Synchronize") != std::string_view::npos || call.find("EventQuery") != std::string_view::npos;
}

class NsysReader {
 public:
  explicit NsysReader(TraceInput& input) : input_(&input), builder_("nsys-sqlite", input.limits()) {}

  Result<Profile> read() {
    if (const auto opened = open(); !opened) return std::unexpected(opened.error());
    if (const auto told = read_names(); !told) return std::unexpected(told.error());
    read_start();
    for (const Table& table : tables)
      if (const auto rows = read_table(table); !rows) return std::unexpected(rows.error());
    if (const auto ranges = read_ranges(); !ranges) return std::unexpected(ranges.error());
    ranges_.classify();
    if (!any_table_)
      return fail(ErrorCode::format, "the database has none of nsys' tables", input_->name(),
                  "make it with: nsys export --type sqlite REPORT.nsys-rep");
    Profile& profile = builder_.profile();
    if (start_ns_ != 0) {
      for (ProfileTrack& track : profile.tracks)
        for (ProfileEvent& event : track.events) event.begin += start_ns_;
      profile.base_ns = start_ns_;
      profile.clock = ProfileClock::wall;
    }
    return builder_.finish();
  }

 private:
  Result<void> open() {
    sqlite3* database = nullptr;
    int code = SQLITE_OK;
    const std::string_view in_memory = input_->in_memory();
    if (in_memory.empty()) {
      code = sqlite3_open_v2(input_->name().c_str(), &database, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nullptr);
    } else {
      code = sqlite3_open_v2(":memory:", &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
      // Read-only: SQLite neither frees nor writes the bytes.
      auto* const data = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(in_memory.data()));
      if (code == SQLITE_OK)
        code = sqlite3_deserialize(database, "main", data, static_cast<sqlite3_int64>(in_memory.size()),
                                   static_cast<sqlite3_int64>(in_memory.size()), SQLITE_DESERIALIZE_READONLY);
    }
    database_.reset(database);
    if (code != SQLITE_OK) return fail(ErrorCode::io, std::string("cannot open the database: ") + sqlite3_errstr(code), input_->name());
    sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);   // a foreign file: its views and triggers run nothing
    sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_limit(database, SQLITE_LIMIT_LENGTH, 16 << 20);
    return {};
  }

  std::unexpected<Error> damaged(const char* table) const {
    return fail(ErrorCode::format, std::string("the database is damaged: ") + sqlite3_errmsg(database_.get()),
                input_->name() + ": table " + table);
  }

  Result<Statement> prepare(const std::string& sql, const char* table) const {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(database_.get(), sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) return damaged(table);
    return Statement(statement);
  }

  // Empty where there is no such table (or it is a view).
  Result<std::set<std::string>> columns_of(const char* table) const {
    const auto is_table = prepare(std::string("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '") + table + "'", table);
    if (!is_table) return std::unexpected(is_table.error());
    std::set<std::string> columns;
    if (sqlite3_step(is_table->get()) != SQLITE_ROW) return columns;
    const auto listed = prepare(std::string("SELECT name FROM pragma_table_info('") + table + "')", table);
    if (!listed) return std::unexpected(listed.error());
    while (sqlite3_step(listed->get()) == SQLITE_ROW)
      if (const auto* const text = sqlite3_column_text(listed->get(), 0)) columns.insert(reinterpret_cast<const char*>(text));
    return columns;
  }

  template <class Row>
  Result<void> each_row(const std::string& sql, const char* table, Row&& row) {
    const auto statement = prepare(sql, table);
    if (!statement) return std::unexpected(statement.error());
    for (;;) {
      const int code = sqlite3_step(statement->get());
      if (code == SQLITE_DONE) return {};
      if (code != SQLITE_ROW) return damaged(table);
      row(statement->get());
      if (builder_.full()) return builder_.too_big(*input_);
    }
  }

  static std::string_view text_at(sqlite3_stmt* row, int column) {
    const auto* const text = reinterpret_cast<const char*>(sqlite3_column_text(row, column));
    return text ? std::string_view(text, static_cast<std::size_t>(sqlite3_column_bytes(row, column))) : std::string_view{};
  }

  Result<void> read_names() {
    const auto columns = columns_of("StringIds");
    if (!columns) return std::unexpected(columns.error());
    if (!columns->contains("id") || !columns->contains("value")) return {};
    return each_row("SELECT id, value FROM StringIds", "StringIds",
                    [&](sqlite3_stmt* row) { names_[sqlite3_column_int64(row, 0)] = builder_.profile().names.add(text_at(row, 1)); });
  }

  // The time of day of the trace's 0.
  void read_start() {
    const auto columns = columns_of("TARGET_INFO_SESSION_START_TIME");
    if (!columns || !columns->contains("utcEpochNs")) return;
    const auto row = prepare("SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME LIMIT 1", "TARGET_INFO_SESSION_START_TIME");
    if (row && sqlite3_step(row->get()) == SQLITE_ROW) start_ns_ = sqlite3_column_int64(row->get(), 0);
    if (start_ns_ < 0 || start_ns_ > std::int64_t{1} << 61) start_ns_ = 0;
  }

  NameId name_of_row(sqlite3_stmt* row, int column, std::string_view otherwise) {
    const auto found = sqlite3_column_type(row, column) == SQLITE_NULL ? names_.end() : names_.find(sqlite3_column_int64(row, column));
    return found != names_.end() ? found->second : builder_.profile().names.add(otherwise);
  }

  Result<void> read_table(const Table& table) {
    const auto columns = columns_of(table.name);
    if (!columns) return std::unexpected(columns.error());
    if (columns->empty()) return {};
    std::string sql = "SELECT ";
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      const char* const wanted = table.columns[i];
      const bool there = wanted && columns->contains(wanted);
      if (!there && i < table.needed && wanted) {
        builder_.note(std::string("table ") + table.name + " has no column " + wanted + " and was left out");
        return {};
      }
      sql += (i ? ", " : "") + (there ? "\"" + std::string(wanted) + "\"" : std::string("NULL"));
    }
    any_table_ = true;
    sql += std::string(" FROM ") + table.name + " ORDER BY start";
    const std::string_view otherwise = std::string_view(table.name).substr(std::string_view("CUPTI_ACTIVITY_KIND_").size());
    return each_row(sql, table.name, [&](sqlite3_stmt* row) { add_row(table, row, otherwise); });
  }

  void add_row(const Table& table, sqlite3_stmt* row, std::string_view otherwise) {
    ProfileEvent event{.begin = sqlite3_column_int64(row, start), .name = name_of_row(row, name, otherwise), .kind = table.kind};
    if (__builtin_sub_overflow(sqlite3_column_int64(row, end), event.begin, &event.duration)) return builder_.count_left_out();
    if (sqlite3_column_type(row, correlation) != SQLITE_NULL)
      event.correlation = launch_link(sqlite3_column_int64(row, correlation), sqlite3_column_int64(row, global));
    if (event.kind == EventKind::runtime && is_wait(builder_.profile().names[event.name])) event.kind = EventKind::sync;
    const bool on_host = table.kind == EventKind::runtime;
    const std::uint32_t track = on_host ? host_track(sqlite3_column_int64(row, global)) : device_track(row, table.kind == EventKind::sync);
    builder_.add(track, event);
    if (sqlite3_column_type(row, bytes) == SQLITE_NULL) return;
    NameFacts& facts = builder_.profile().facts[event.name];
    ++facts.events;
    facts.bytes += static_cast<double>(sqlite3_column_int64(row, bytes));
  }

  static std::int64_t pid_of(std::int64_t global) { return (global / id_span) % id_span; }

  // Each process counts its launches from 1: the process keeps those of several apart.
  static std::uint32_t launch_link(std::int64_t correlation, std::int64_t global) {
    constexpr std::uint64_t spread = 0x9e3779b1;
    return ProfileBuilder::link(
        static_cast<std::int64_t>(static_cast<std::uint64_t>(correlation) + static_cast<std::uint64_t>(pid_of(global)) * spread));
  }

  std::uint32_t host_track(std::int64_t global_tid) {
    const std::int64_t pid = pid_of(global_tid), tid = global_tid % id_span;
    const std::uint32_t number = builder_.track(std::to_string(pid), std::to_string(tid), TrackKind::thread);
    return number;
  }

  std::uint32_t device_track(sqlite3_stmt* row, bool waits) {
    const std::int64_t ordinal = sqlite3_column_int64(row, device);
    const std::uint32_t number = builder_.track("device " + std::to_string(ordinal), std::to_string(sqlite3_column_int64(row, stream)),
                                                waits ? TrackKind::summary : TrackKind::stream);
    builder_.profile().tracks[number].device = ordinal >= 0 && ordinal < 65536 ? static_cast<int>(ordinal) : 0;
    return number;
  }

  Result<void> read_ranges() {
    const auto columns = columns_of("NVTX_EVENTS");
    if (!columns) return std::unexpected(columns.error());
    for (const char* needed : {"start", "end", "globalTid"})
      if (!columns->contains(needed)) return {};
    any_table_ = true;
    const std::string text = columns->contains("text") ? "text" : "NULL", text_id = columns->contains("textId") ? "textId" : "NULL";
    const std::string only = columns->contains("eventType") ? " AND eventType = " + std::to_string(push_pop_range) : "";
    return each_row("SELECT start, \"end\", globalTid, " + text + ", " + text_id + " FROM NVTX_EVENTS WHERE \"end\" IS NOT NULL" + only +
                        " ORDER BY start, \"end\" DESC",
                    "NVTX_EVENTS", [&](sqlite3_stmt* row) { add_range(row); });
  }

  void add_range(sqlite3_stmt* row) {
    const std::int64_t begin = sqlite3_column_int64(row, 0);
    std::int64_t duration = 0;
    if (__builtin_sub_overflow(sqlite3_column_int64(row, 1), begin, &duration)) return builder_.count_left_out();
    std::string_view text = text_at(row, 3);
    if (text.empty()) text = builder_.profile().names[name_of_row(row, 4, "range")];
    ranges_.add(host_track(sqlite3_column_int64(row, 2)), begin, duration, text);
  }

  TraceInput* input_;
  ProfileBuilder builder_;
  NvtxRanges ranges_{builder_};
  Database database_;
  std::unordered_map<std::int64_t, NameId> names_;
  std::int64_t start_ns_ = 0;
  bool any_table_ = false;
};

}  // namespace

bool is_sqlite(std::string_view start) { return start.starts_with(std::string_view("SQLite format 3\0", 16)); }

Result<Profile> read_nsys(TraceInput& input) {
  if (input.packed()) return fail(ErrorCode::unsupported, "a packed database cannot be read", input.name(), "unpack it with gunzip first");
  return NsysReader(input).read();
}

}  // namespace joulery
