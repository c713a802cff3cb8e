#include "record/database.h"

#include <sqlite3.h>
#include <unistd.h>

#include <cctype>
#include <cstring>
#include <utility>

namespace joulery {
namespace {

ErrorCode code_of(int rc) {
  switch (rc & 0xff) {
    case SQLITE_FULL: return ErrorCode::no_space;
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return ErrorCode::busy;
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_AUTH: return ErrorCode::permission;
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT: return ErrorCode::format;
    case SQLITE_ERROR: return ErrorCode::usage;
    default: return ErrorCode::io;
  }
}

std::string hint_of(ErrorCode code) {
  if (code == ErrorCode::no_space) return "free some space on that disk";
  if (code == ErrorCode::busy) return "another program holds the file";
  return {};
}

// A path as an SQLite URI, with parameters.
std::string uri(const std::string& path, std::string_view parameters) {
  std::string text = "file:";
  constexpr std::string_view digits = "0123456789ABCDEF";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = std::isalnum(byte) || std::strchr("/._-", c) != nullptr;
    if (plain)
      text += c;
    else
      (text += '%') += {digits[byte >> 4], digits[byte & 15]};
  }
  return text.append("?").append(parameters);
}

}  // namespace

Statement::Statement(Statement&& other) noexcept : statement_(std::exchange(other.statement_, nullptr)), next_(other.next_) {}
Statement::~Statement() { sqlite3_finalize(statement_); }

Statement& Statement::bind(std::int64_t value) {
  sqlite3_bind_int64(statement_, next_++, value);
  return *this;
}
Statement& Statement::bind_null() {
  sqlite3_bind_null(statement_, next_++);
  return *this;
}
Statement& Statement::bind(double value) {
  sqlite3_bind_double(statement_, next_++, value);
  return *this;
}
Statement& Statement::bind(std::string_view text) {
  const char* from = text.data() == nullptr ? "" : text.data();
  sqlite3_bind_text64(statement_, next_++, from, text.size(), SQLITE_STATIC, SQLITE_UTF8);
  return *this;
}
Statement& Statement::bind(std::span<const std::uint8_t> blob) {
  sqlite3_bind_blob64(statement_, next_++, blob.data(), blob.size(), SQLITE_STATIC);
  return *this;
}

Result<bool> Statement::step() {
  const int rc = sqlite3_step(statement_);
  if (rc == SQLITE_ROW) return true;
  Result<bool> result = false;
  if (rc != SQLITE_DONE) { result = std::unexpected(Database::error(sqlite3_db_handle(statement_), "recording")); }
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
  next_ = 1;
  return result;
}

Result<void> Statement::run() {
  const auto done = step();
  if (!done) return std::unexpected(done.error());
  return {};
}

bool Statement::is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_, column); }
double Statement::real(int column) const { return sqlite3_column_double(statement_, column); }
std::string Statement::text(int column) const {
  const auto* text = sqlite3_column_text(statement_, column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
  return text == nullptr ? std::string() : std::string(reinterpret_cast<const char*>(text), size);
}
std::span<const std::uint8_t> Statement::blob(int column) const {
  const void* data = sqlite3_column_blob(statement_, column);
  return {static_cast<const std::uint8_t*>(data), static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

Database::Database(Database&& other) noexcept : db_(std::exchange(other.db_, nullptr)) {}
Database& Database::operator=(Database&& other) noexcept {
  std::swap(db_, other.db_);
  return *this;
}
Database::~Database() { sqlite3_close_v2(db_); }

Error Database::error(sqlite3* db, const std::string& what) {
  const int rc = db == nullptr ? SQLITE_NOMEM : sqlite3_extended_errcode(db);
  const ErrorCode code = code_of(rc);
  const int number = db == nullptr ? 0 : sqlite3_system_errno(db);
  std::string text = what + ": " + (db == nullptr ? "out of memory" : sqlite3_errmsg(db));
  if (code == ErrorCode::io && number != 0) text += std::string(": ") + std::strerror(number);
  const char* name = db == nullptr ? nullptr : sqlite3_db_filename(db, "main");
  return {code, std::move(text), name == nullptr ? "" : name, hint_of(code)};
}

Result<Database> Database::open(const std::string& name, int flags) {
  Database database;
  const int rc = sqlite3_open_v2(name.c_str(), &database.db_, flags | SQLITE_OPEN_EXRESCODE, nullptr);
  if (rc != SQLITE_OK) return std::unexpected(error(database.db_, "cannot open the recording"));
  sqlite3_busy_timeout(database.db_, 2000);
  return database;
}

Result<Database> Database::open_for_writing(const std::string& path) { return open(path, SQLITE_OPEN_READWRITE); }

// A recording whose writer was killed has its newest data in the write-ahead log. Reading it needs an index file
// (-shm) that SQLite makes beside it; where that folder cannot be written, the index is held in memory instead
// (exclusive mode, and no locks: nobody can write there), and where there is no log the file is taken as it is.
Result<Database> Database::open_for_reading(const std::string& path) {
  struct Way {
    std::string_view parameters, pragma;
  };
  const bool has_log = access((path + "-wal").c_str(), F_OK) == 0;
  const Way usual{"mode=ro", ""};
  const Way no_writing = has_log ? Way{"mode=ro&vfs=unix-none", "PRAGMA locking_mode=EXCLUSIVE"} : Way{"mode=ro&immutable=1", ""};
  Result<Database> database = fail(ErrorCode::internal, "");
  for (const Way& way : {usual, no_writing}) {
    database = open(uri(path, way.parameters), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
    if (!database) continue;
    sqlite3_db_config(database->db_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    sqlite3_db_config(database->db_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_db_config(database->db_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    auto read = database->execute(std::string(way.pragma) + ";SELECT count(*) FROM sqlite_schema");
    if (read) return database;
    const int rc = sqlite3_errcode(database->db_) & 0xff;
    database = std::unexpected(read.error());
    if (rc != SQLITE_CANTOPEN && rc != SQLITE_READONLY) break;
  }
  return database;
}

Result<void> Database::execute(const std::string& sql) {
  if (sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return std::unexpected(error(db_, "recording"));
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int rc = sqlite3_prepare_v2(db_, sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
  if (rc != SQLITE_OK) return std::unexpected(error(db_, "recording"));
  return Statement(statement);
}

Result<std::int64_t> Database::integer(const std::string& sql) {
  auto statement = prepare(sql);
  if (!statement) return std::unexpected(statement.error());
  const auto row = statement->step();
  if (!row) return std::unexpected(row.error());
  return *row ? statement->integer(0) : 0;
}

bool Database::in_transaction() const { return sqlite3_get_autocommit(db_) == 0; }

}  // namespace joulery
