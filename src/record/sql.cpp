#include "record/sql.h"

#include <sqlite3.h>

#include <cctype>
#include <string_view>

#include "record/decoded_tables.h"
#include "record/open_recording.h"
#include "record/stored_chunk.h"

namespace joulery {
namespace {

constexpr std::string_view forbidden_functions[] = {"load_extension", "fts3_tokenizer"};
constexpr std::string_view harmless_pragmas[] = {"table_info", "table_xinfo", "table_list"};

template <std::size_t n>
bool among(const std::string_view (&names)[n], const char* name) {
  for (const auto candidate : names) {
    if (name != nullptr && sqlite3_stricmp(name, std::string(candidate).c_str()) == 0) return true;
  }
  return false;
}

// Reading is allowed, and nothing else.
int authorise(void*, int action, const char* first, const char* second, const char*, const char*) {
  const bool allowed = action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_RECURSIVE ||
                       (action == SQLITE_FUNCTION && !among(forbidden_functions, second)) ||
                       (action == SQLITE_PRAGMA && among(harmless_pragmas, first));
  return allowed ? SQLITE_OK : SQLITE_DENY;
}

std::string hexadecimal(const Statement& row, int column) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text = "x'";
  for (const std::uint8_t byte : row.blob(column)) (text += digits[byte >> 4]) += digits[byte & 15];
  return text + "'";
}

SqlValue value_of(const Statement& row, int column) {
  switch (sqlite3_column_type(row.raw(), column)) {
    case SQLITE_INTEGER: return row.integer(column);
    case SQLITE_FLOAT: return row.real(column);
    case SQLITE_TEXT: return row.text(column);
    case SQLITE_BLOB: return hexadecimal(row, column);
    default: return std::monostate{};
  }
}

bool only_space(std::string_view text) {
  for (const char c : text) {
    if (std::isspace(static_cast<unsigned char>(c)) == 0 && c != ';') return false;
  }
  return true;
}

std::unexpected<Error> refused(const std::string& why, const std::string& sql) {
  return fail(ErrorCode::usage, why, sql, "ask with one SELECT");
}

Result<DecodedSource> describe_source(Database& database) {
  DecodedSource source;
  source.database = &database;
  auto devices = read_devices(database);
  if (!devices) return std::unexpected(devices.error());
  auto names = read_mark_names(database);
  if (!names) return std::unexpected(names.error());
  const auto clocks = read_clock_maps(database);
  if (!clocks) return std::unexpected(clocks.error());
  source.devices = std::move(*devices);
  source.mark_names = std::move(*names);
  source.start = clocks->front().mono;
  return source;
}

std::string views(MonoTime start) {
  const auto since = [&](const std::string& ns) { return "(" + ns + " - " + std::to_string(start.ns) + ") * 1e-9"; };
  return "PRAGMA temp_store=MEMORY;"
         "CREATE TEMP VIEW processes AS SELECT " +
         since("mono_ns") +
         " AS t_s, mono_ns, pid, start_ticks, parent, name, cpu_ns * 1e-9 AS cpu_s"
         " FROM process_sample JOIN process ON process.id = process;"
         "CREATE TEMP VIEW device_processes AS SELECT " +
         since("mono_ns") +
         " AS t_s, mono_ns, device, component, pid, memory, busy, memory_busy, encoder, decoder FROM device_process;"
         "CREATE TEMP VIEW events AS SELECT " +
         since("begin_ns") + " AS begin_s, " + since("end_ns") +
         " AS end_s, kind, detail, count FROM event;"
         "PRAGMA query_only=1;"
         // Connects the tables, which the authoriser would forbid later: SQLite declares them with CREATE TABLE.
         "SELECT 1 FROM samples LIMIT 0; SELECT 1 FROM marks LIMIT 0;";
}

Result<Statement> prepare(Database& database, const std::string& sql) {
  sqlite3_stmt* raw = nullptr;
  const char* rest = nullptr;
  if (sqlite3_prepare_v2(database.handle(), sql.c_str(), static_cast<int>(sql.size() + 1), &raw, &rest) != SQLITE_OK) {
    return refused(std::string("the query cannot be answered: ") + sqlite3_errmsg(database.handle()), sql);
  }
  Statement statement(raw);
  if (raw == nullptr) return refused("the query is empty", sql);
  if (!only_space(rest)) return refused("more than one statement", sql);
  if (sqlite3_stmt_readonly(raw) == 0 || sqlite3_column_count(raw) == 0) return refused("a recording is only read, never changed", sql);
  return statement;
}

Result<void> run(Statement& statement, SqlRows& rows) {
  const int count = sqlite3_column_count(statement.raw());
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.emplace_back(sqlite3_column_name(statement.raw(), i));
  rows.columns(names);
  std::vector<SqlValue> values(static_cast<std::size_t>(count));
  while (true) {
    const auto more = statement.step();
    if (!more) return std::unexpected(more.error());
    if (!*more) return {};
    for (int i = 0; i < count; ++i) values[static_cast<std::size_t>(i)] = value_of(statement, i);
    if (!rows.row(values)) return {};
  }
}

class Collect final : public SqlRows {
 public:
  void columns(std::span<const std::string> names) override { table.columns.assign(names.begin(), names.end()); }
  bool row(std::span<const SqlValue> values) override {
    table.rows.emplace_back(values.begin(), values.end());
    return true;
  }
  SqlTable table;
};

}  // namespace

Result<void> query(const std::string& path, const std::string& sql, SqlRows& rows) {
  // Declared first, so that the tables outlive the connection that uses them.
  DecodedSource source;
  std::unique_ptr<VirtualTable> samples, marks;
  auto database = open_recording_database(path);
  if (!database) return std::unexpected(database.error());
  auto described = describe_source(*database);
  if (!described) return std::unexpected(described.error());
  source = std::move(*described);
  samples = samples_table(source);
  marks = marks_table(source);
  if (auto done = add_table(*database, "samples", *samples); !done) return done;
  if (auto done = add_table(*database, "marks", *marks); !done) return done;
  if (auto done = database->execute(views(source.start)); !done) return done;
  sqlite3_set_authorizer(database->handle(), authorise, nullptr);
  auto statement = prepare(*database, sql);
  if (!statement) return std::unexpected(statement.error());
  return run(*statement, rows);
}

Result<SqlTable> query(const std::string& path, const std::string& sql) {
  Collect collect;
  if (auto done = query(path, sql, collect); !done) return std::unexpected(done.error());
  return std::move(collect.table);
}

}  // namespace joulery
