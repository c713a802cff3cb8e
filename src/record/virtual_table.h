// A table that SQL sees and code makes: what SQLite's virtual table interface needs, said in C++.
//
// Invariant: a filter handed to a cursor is a hint. SQLite checks every condition again on the rows that come, so a
// cursor may give more rows than the filters ask for, never fewer.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "record/database.h"

struct sqlite3_context;
struct sqlite3_value;

namespace joulery {

enum class Comparison : std::uint8_t { equal, less, greater };  // less and greater: or equal

// The condition "column <how> value" of a WHERE clause.
struct Filter {
  int column = 0;
  Comparison how = Comparison::equal;
  sqlite3_value* value = nullptr;  // valid during TableCursor::start only
};

class TableCursor {
 public:
  virtual ~TableCursor() = default;
  // Stands at the first row, if there is one. Bit i of `used`: column i is wanted (bit 63: all from 63 on).
  virtual Result<void> start(const std::vector<Filter>& filters, std::uint64_t used) = 0;
  virtual Result<void> advance() = 0;
  virtual bool done() const = 0;
  virtual void give(int column, sqlite3_context* result) const = 0;
};

class VirtualTable {
 public:
  virtual ~VirtualTable() = default;
  virtual const char* declaration() const = 0;  // CREATE TABLE x(...)
  virtual bool can_filter(int column) const = 0;
  virtual std::unique_ptr<TableCursor> cursor() const = 0;
};

// Makes `table` known as `name`; it must outlive the connection.
Result<void> add_table(Database& database, const char* name, const VirtualTable& table);

// Results for TableCursor::give; the text must live until the row is left.
void give_text(sqlite3_context* result, std::string_view text);

}  // namespace joulery
