// The lines that `joulery log` streams: time, elapsed seconds, then one column for each figure, as CSV or as JSON lines.
// Invariant: the columns never change after the header; a missing figure is an empty field or null, and its reason stands
// in the last column or in `reasons`.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/time.h"

namespace joulery {

struct LogColumn {
  std::string component;  // "node/cpu/package-0"
  std::string quantity;   // "watts" or "utilisation" (0 to 1)
};

struct LogValue {
  std::optional<double> value;
  std::string reason;  // why there is none
};

enum class LogFormat { csv, json_lines };

class LogWriter {
 public:
  LogWriter(std::vector<LogColumn> columns, LogFormat format) : columns_(std::move(columns)), format_(format) {}
  // The header line; "" for JSON lines.
  std::string header() const;
  // One line. `values` in the order of the columns; those that are lacking at the end are missing.
  std::string row(WallTime time, Duration elapsed, std::span<const LogValue> values) const;

 private:
  std::vector<LogColumn> columns_;
  LogFormat format_;
};

}  // namespace joulery
