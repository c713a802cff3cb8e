// Questions to a recording in SQL, for `joulery sql FILE 'SELECT ...'`. Beside the file's own tables stand decoded ones:
// samples and marks (record/decoded_tables.h), processes(t_s, mono_ns, pid, start_ticks, parent, name, cpu_s) and
// events(begin_s, end_s, kind, detail, count).
//
// Invariant: nothing that is asked changes the recording, opens another file, or loads code.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/result.h"

namespace joulery {

using SqlValue = std::variant<std::monostate, std::int64_t, double, std::string>;  // monostate: NULL; a blob is text "x'00ff'"

// Takes an answer as it comes, row by row.
class SqlRows {
 public:
  virtual ~SqlRows() = default;
  virtual void columns(std::span<const std::string> names) = 0;  // once, before the rows
  virtual bool row(std::span<const SqlValue> values) = 0;        // false: no more rows are wanted
};

// Errors: as Recording::open; `usage` where the statement is not one SELECT or cannot be understood.
Result<void> query(const std::string& path, const std::string& sql, SqlRows& rows);

// A whole answer in memory.
struct SqlTable {
  std::vector<std::string> columns;
  std::vector<std::vector<SqlValue>> rows;
};
Result<SqlTable> query(const std::string& path, const std::string& sql);

}  // namespace joulery
