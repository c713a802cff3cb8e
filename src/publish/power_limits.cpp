#include "publish/power_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "publish/columns.h"
#include "publish/json_writer.h"
#include "publish/utf8.h"

namespace joulery {
namespace {

using Whole = std::optional<std::int64_t>;

std::string watts_or_dash(const Whole& microwatts) {
  if (!microwatts) return "-";
  std::string text = fmt::format("{:.1f}", static_cast<double>(*microwatts) / 1e6);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

std::string now_text(const PowerLimit& limit) { return watts_or_dash(limit.now_uw) + (limit.in_force ? "" : " (off)"); }

std::string state_of(const PowerLimit& limit) {
  if (!limit.holder.empty()) return "held by " + limit.holder;
  return limit.settable ? "can be set" : "cannot be set";
}

constexpr std::size_t columns = 7;
using Row = std::vector<std::string>;

Row row_of(const PowerLimit& limit) {
  std::string name = limit.usual ? limit.component.path() : limit_address(limit.component, limit.name);
  if (limit.usual && !limit.name.empty()) name += " (" + limit.name + ")";
  return {std::move(name),
          now_text(limit),
          watts_or_dash(limit.enforced_uw),
          watts_or_dash(limit.least_uw),
          watts_or_dash(limit.most_uw),
          watts_or_dash(limit.standard_uw),
          state_of(limit)};
}

std::string table(std::vector<Row> rows, const TextStyle& style) {
  std::vector<int> widths(columns, 0);
  for (const Row& row : rows)
    for (std::size_t i = 0; i < columns; ++i) widths[i] = std::max(widths[i], static_cast<int>(row[i].size()));
  std::string text;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::string line = "  " + padded(rows[r][0], widths[0]);
    for (std::size_t i = 1; i + 1 < columns; ++i) line += "  " + padded(rows[r][i], widths[i], true);
    line += "  " + rows[r].back();
    text += (r == 0 ? painted(line, Ink::dim, style) : line) + "\n";
  }
  return text;
}

// Each reason once, with the limits that it is in the way of.
std::string reasons(std::span<const PowerLimit> limits, const TextStyle& style) {
  std::string text;
  std::vector<std::string> told;
  for (const PowerLimit& limit : limits) {
    if (limit.settable || std::ranges::find(told, limit.reason) != told.end()) continue;
    told.push_back(limit.reason);
    text += "\n" + labelled(limit.kind, printable(limit.reason), style, Ink::bad);
    for (std::size_t at = 0; at < limit.remedy.size();) {
      const std::size_t end = std::min(limit.remedy.find('\n', at), limit.remedy.size());
      text += fmt::format("            {} {}\n", style.unicode ? "→" : ">", printable(limit.remedy.substr(at, end - at)));
      at = end + 1;
    }
  }
  return text;
}

void write_watts(JsonWriter& json, const char* name, const Whole& microwatts) {
  json.key(name);
  if (microwatts)
    json.number(static_cast<double>(*microwatts) / 1e6);
  else
    json.null();
}

void write_limit(JsonWriter& json, const PowerLimit& limit) {
  json.begin_object();
  json.key("component").text(limit.component.path());
  json.key("name").text(limit.name);
  json.key("kind").text(limit.kind);
  json.key("usual").boolean(limit.usual);
  write_watts(json, "watts", limit.now_uw);
  json.key("in_force").boolean(limit.in_force);
  write_watts(json, "enforced_watts", limit.enforced_uw);
  write_watts(json, "least_watts", limit.least_uw);
  write_watts(json, "most_watts", limit.most_uw);
  write_watts(json, "default_watts", limit.standard_uw);
  json.key("window_s");
  json.number(limit.window_us ? std::optional(static_cast<double>(*limit.window_us) / 1e6) : std::nullopt);
  json.key("settable").boolean(limit.settable);
  json.key("reason").text(limit.reason);
  json.key("remedy").text(limit.remedy);
  json.key("holder").text(limit.holder);
  json.end_object();
}

}  // namespace

std::string power_limits_text(std::span<const PowerLimit> limits, const Error& none, const TextStyle& style) {
  std::string text = painted("Power limits of this machine", Ink::strong, style) + "\n";
  if (limits.empty()) {
    text += labelled("none", printable(none.what), style);
    return text + fmt::format("            {} {}\n", style.unicode ? "→" : ">", printable(none.hint));
  }
  std::vector<Row> rows{{"limit (W)", "now", "enforced", "least", "most", "default", ""}};
  for (const PowerLimit& limit : limits) rows.push_back(row_of(limit));
  for (Row& row : rows)
    for (std::string& cell : row) cell = printable(cell);
  text += table(std::move(rows), style) + reasons(limits, style);
  if (std::ranges::any_of(limits, &PowerLimit::settable))
    text += "\n  joulery run --power-limit LIMIT=WATTS -- CMD sets one for as long as CMD runs.\n";
  return text;
}

std::string power_limits_json(std::span<const PowerLimit> limits, const Error& none) {
  JsonWriter json;
  json.begin_object();
  json.key("schema").text("joulery.power/1");
  json.key("limits").begin_array();
  for (const PowerLimit& limit : limits) write_limit(json, limit);
  json.end_array();
  json.key("reason").text(limits.empty() ? none.what : "");
  json.key("remedy").text(limits.empty() ? none.hint : "");
  json.end_object();
  return json.str() + "\n";
}

}  // namespace joulery
