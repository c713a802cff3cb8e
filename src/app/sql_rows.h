// Answers in SQL as they are printed: CSV under a header, or one JSON object a line.
#pragma once

#include <string>
#include <vector>

#include "record/sql.h"

namespace joulery {

// Rows as CSV under a header.
class CsvRows final : public SqlRows {
 public:
  void columns(std::span<const std::string> names) override;
  bool row(std::span<const SqlValue> values) override;
};

// One JSON object a line.
class JsonRows final : public SqlRows {
 public:
  void columns(std::span<const std::string> names) override { names_.assign(names.begin(), names.end()); }
  bool row(std::span<const SqlValue> values) override;

 private:
  std::vector<std::string> names_;
};

}  // namespace joulery
