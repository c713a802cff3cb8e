// SQLite as this folder uses it: an open file and prepared statements that close themselves, and its errors as ours.
//
// Invariant: a Statement does not outlive its Database.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace joulery {

class Statement {
 public:
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&&) = delete;
  ~Statement();

  // Binds the next parameter, in order; text and blobs must live until the next run() or step() is over.
  Statement& bind(std::int64_t value);
  Statement& bind(double value);
  Statement& bind(std::string_view text);
  Statement& bind(std::span<const std::uint8_t> blob);
  // NULL where there is no value.
  template <class Value>
  Statement& bind(const std::optional<Value>& value) {
    return value ? bind(*value) : bind_null();
  }

  // True: a row stands ready. An Error after which the statement can be run again.
  Result<bool> step();
  // Runs a statement that returns no rows, and makes it ready for new parameters.
  Result<void> run();

  bool is_null(int column) const;
  std::int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;
  std::span<const std::uint8_t> blob(int column) const;  // valid until the next step
  sqlite3_stmt* raw() const { return statement_; }

 private:
  Statement& bind_null();

  sqlite3_stmt* statement_;
  int next_ = 1;
};

class Database {
 public:
  Database() = default;
  Database(Database&& other) noexcept;
  Database& operator=(Database&& other) noexcept;
  ~Database();

  // Opens an existing file (it may be empty) for writing.
  static Result<Database> open_for_writing(const std::string& path);
  // Opens a file to read it, with the write-ahead log beside it if there is one; nothing is changed.
  static Result<Database> open_for_reading(const std::string& path);

  Result<void> execute(const std::string& sql);
  Result<Statement> prepare(std::string_view sql);
  Result<std::int64_t> integer(const std::string& sql);  // the first column of the first row
  bool in_transaction() const;
  sqlite3* handle() const { return db_; }

  // The last SQLite error of this connection as ours; `what` says what was tried.
  static Error error(sqlite3* db, const std::string& what);

 private:
  static Result<Database> open(const std::string& name, int flags);

  sqlite3* db_ = nullptr;
};

}  // namespace joulery
