#include "publish/log_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "publish/csv.h"
#include "publish/json_writer.h"
#include "publish/samples.h"

namespace joulery {
namespace {

const LogValue absent{std::nullopt, "no reading"};

const LogValue& at(std::span<const LogValue> values, std::size_t i) { return i < values.size() ? values[i] : absent; }

bool known(const LogValue& v) { return v.value && std::isfinite(*v.value); }

std::string name_of_column(const LogColumn& column) { return column.component + ":" + column.quantity; }

// Six significant digits: finer than any meter is accurate.
std::string figure(const LogValue& v) { return known(v) ? fmt::format("{:.6g}", *v.value) : ""; }

std::string reason(const LogValue& v) { return v.reason.empty() ? absent.reason : v.reason; }

std::string csv_row(std::span<const LogColumn> columns, std::span<const LogValue> values) {
  std::string line, reasons;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    line += "," + figure(at(values, i));
    if (!known(at(values, i)))
      reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", name_of_column(columns[i]), reason(at(values, i)));
  }
  return line + "," + csv_field(reasons) + "\n";
}

// {"watts": {component: number}, "utilisation": {...}, "reasons": {"component:quantity": why}}
void write_values(JsonWriter& json, std::span<const LogColumn> columns, std::span<const LogValue> values) {
  std::vector<std::string> quantities;
  for (const LogColumn& column : columns)
    if (std::find(quantities.begin(), quantities.end(), column.quantity) == quantities.end()) quantities.push_back(column.quantity);
  for (const std::string& quantity : quantities) {
    json.key(quantity).begin_object();
    for (std::size_t i = 0; i < columns.size(); ++i)
      if (columns[i].quantity == quantity) {
        json.key(columns[i].component);
        if (known(at(values, i)))
          json.raw(figure(at(values, i)));
        else
          json.null();
      }
    json.end_object();
  }
  json.key("reasons").begin_object();
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (!known(at(values, i))) json.key(name_of_column(columns[i])).text(reason(at(values, i)));
  json.end_object();
}

}  // namespace

std::string LogWriter::header() const {
  if (format_ == LogFormat::json_lines) return {};
  std::string line = "time,elapsed_s";
  for (const LogColumn& column : columns_) line += "," + csv_field(name_of_column(column));
  return line + ",reason\n";
}

std::string LogWriter::row(WallTime time, Duration elapsed, std::span<const LogValue> values) const {
  const std::string seconds_text = fmt::format("{:.3f}", to_seconds(elapsed));
  if (format_ == LogFormat::csv) return iso_utc(time) + "," + seconds_text + csv_row(columns_, values);
  JsonWriter json(0);
  json.begin_object();
  json.key("time").text(iso_utc(time));
  json.key("elapsed_s").raw(seconds_text);
  write_values(json, columns_, values);
  json.end_object();
  return json.str() + "\n";
}

}  // namespace joulery
