#include "record/select.h"

#include <sqlite3.h>

#include <cctype>
#include <string_view>

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

Result<Statement> prepare(Database& database, const std::string& sql) {
  sqlite3_stmt* raw = nullptr;
  const char* rest = nullptr;
  if (sqlite3_prepare_v2(database.handle(), sql.c_str(), static_cast<int>(sql.size() + 1), &raw, &rest) != SQLITE_OK) {
    return refused(std::string("the query cannot be answered: ") + sqlite3_errmsg(database.handle()), sql);
  }
  Statement statement(raw);
  if (raw == nullptr) return refused("the query is empty", sql);
  if (!only_space(rest)) return refused("more than one statement", sql);
  if (sqlite3_stmt_readonly(raw) == 0 || sqlite3_column_count(raw) == 0) return refused("what is stored is only read, never changed", sql);
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

}  // namespace

Result<void> select(Database& database, const std::string& sql, SqlRows& rows) {
  sqlite3_set_authorizer(database.handle(), authorise, nullptr);
  auto statement = prepare(database, sql);
  if (!statement) return std::unexpected(statement.error());
  return run(*statement, rows);
}

}  // namespace joulery
