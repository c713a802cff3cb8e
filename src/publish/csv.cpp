#include "publish/csv.h"

#include <fmt/format.h>

#include <cmath>

#include "core/units.h"
#include "publish/numbers.h"
#include "publish/reasons.h"
#include "publish/utf8.h"

namespace joulery {
namespace {

std::string energy_field(const std::optional<Estimate>& value, Energy Estimate::* part) {
  return value ? exact_joules((*value).*part) : "";
}

std::string component_line(const ReportComponent& c) {
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}\n", csv_field(c.path), csv_field(c.label),
                     energy_field(c.joules, &Estimate::value), energy_field(c.joules, &Estimate::low),
                     energy_field(c.joules, &Estimate::high), csv_number(c.share), csv_number(c.mean_watts), csv_number(c.peak_watts),
                     name_of(c.quality), csv_field(c.meter), csv_field(reason_of(c)), c.overlap ? "true" : "false");
}

}  // namespace

std::string csv_field(std::string_view text) {
  std::string field = valid_utf8(text);
  if (!field.empty() && std::string_view("=+-@\t\r").find(field.front()) != std::string_view::npos) field.insert(0, "'");
  if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
  std::string quoted = "\"";
  for (const char c : field) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted += '"';
}

std::string csv_number(const std::optional<double>& value) { return value && std::isfinite(*value) ? to_decimal(*value) : ""; }

std::string report_csv(const Report& report) {
  std::string out = "path,label,joules,low,high,share,mean_watts,peak_watts,quality,meter,reason,overlap\n";
  for (const ReportComponent& c : report.components) out += component_line(c);
  return out;
}

}  // namespace joulery
