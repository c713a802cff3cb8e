// The forms of a bill from the store: a table, CSV, JSON.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/store_report.h"
#include "app/time_words.h"
#include "core/units.h"
#include "publish/columns.h"
#include "publish/csv.h"
#include "publish/numbers.h"
#include "publish/utf8.h"

namespace joulery {
namespace {

using nlohmann::ordered_json;

// What follows the rows, in this order.
struct Line {
  const char* name;
  Energy energy;
};
std::vector<Line> closing_lines(const StoreBill& bill) {
  std::vector<Line> lines{{"unattributed", bill.unattributed}, {"total", bill.total}};
  if (bill.idle_known) lines.insert(lines.begin(), {"idle", bill.idle});
  return lines;
}

double share(const StoreBill& bill, Energy energy) { return bill.total == Energy{} ? 0 : energy / bill.total; }

std::string money(const StoreBill& bill, Energy energy) {
  const auto cost = bill.cost(energy);
  return cost ? fmt::format("{:.4f} {}", *cost, bill.tariff->currency.code()) : "";
}

std::string name_of_row(const StoreBillRow& row) {
  std::string name;
  for (const auto& key : row.keys) name += (name.empty() ? "" : " · ") + printable(key);
  return name;
}

std::string table_line(const StoreBill& bill, const std::string& name, Energy energy, int width) {
  return fmt::format("  {}  {:>18}  {:>8}  {:>12}  {:>14}\n", padded(name, width), exact_joules(energy) + " J",
                     percent(share(bill, energy)), to_text(grams(bill.grams(energy))), money(bill, energy));
}

ordered_json json_of(const StoreBill& bill, Energy energy) {
  const auto cost = bill.cost(energy);
  return {{"joules", to_joules(energy)},
          {"microjoules", energy.base_units()},
          {"share", share(bill, energy)},
          {"grams_co2e", bill.grams(energy)},
          {"cost", cost ? ordered_json(*cost) : ordered_json()}};
}

}  // namespace

std::string bill_text(const StoreBill& bill) {
  std::string head;
  for (const auto& key : bill.by) head += (head.empty() ? "" : " · ") + key;
  std::string text = fmt::format("{} to {}\n", utc_text(bill.from), utc_text(bill.to));
  int width = display_width(head);
  for (const auto& row : bill.rows) width = std::max(width, display_width(name_of_row(row)));
  width = std::clamp(width, 12, 60);
  text += fmt::format("\n  {}  {:>18}  {:>8}  {:>12}  {:>14}\n", padded(head, width), "energy", "share", "carbon", "cost");
  for (const auto& row : bill.rows) text += table_line(bill, name_of_row(row), row.energy, width);
  for (const Line& line : closing_lines(bill)) text += table_line(bill, line.name, line.energy, width);
  text += "\n";
  if (bill.kind.empty()) text += "  Each kind by itself, with idle and unattributed, is the total: the rows overlap.\n";
  if (bill.estimated) text += fmt::format("  {} of it is estimated, not measured.\n", percent(share(bill, *bill.estimated)));
  text += fmt::format("  Stored: {} of the time{}.\n", to_text(bill.covered),
                      bill.missing > seconds(1) ? fmt::format("; {} are missing, and in no figure", to_text(bill.missing)) : "");
  text += fmt::format("  Carbon: {:.4g} g/kWh, {}, PUE {:.3g}{}.\n", to_grams_per_kilowatt_hour(bill.carbon.intensity),
                      bill.carbon.place.empty() ? bill.carbon.source : bill.carbon.place, bill.carbon.pue.value,
                      bill.carbon.note.empty() ? "" : " (" + bill.carbon.note + ")");
  if (!bill.tariff) text += "  No tariff given: --tariff \"0.30 EUR/kWh\".\n";
  for (const auto& note : bill.notes) text += "  Note: " + note + ".\n";
  return text;
}

std::string bill_csv(const StoreBill& bill) {
  std::string text = "line";
  for (const auto& key : bill.by) text += "," + csv_field(key);
  text += ",joules,share,grams_co2e,cost,currency\n";
  const auto line = [&](const char* what, const std::vector<std::string>& keys, Energy energy) {
    text += what;
    for (std::size_t i = 0; i < bill.by.size(); ++i) text += "," + (i < keys.size() ? csv_field(keys[i]) : std::string());
    text += fmt::format(",{},{},{},{},{}\n", exact_joules(energy), to_decimal(share(bill, energy)), to_decimal(bill.grams(energy)),
                        csv_number(bill.cost(energy)), bill.tariff ? bill.tariff->currency.code() : "");
  };
  for (const auto& row : bill.rows) line("consumer", row.keys, row.energy);
  for (const Line& closing : closing_lines(bill)) line(closing.name, {}, closing.energy);
  return text;
}

std::string bill_json(const StoreBill& bill) {
  ordered_json told = {{"schema", "joulery.store_report/1"},
                       {"from", utc_text(bill.from)},
                       {"to", utc_text(bill.to)},
                       {"by", bill.by},
                       {"kind", bill.kind.empty() ? ordered_json() : ordered_json(bill.kind)},
                       {"consumers", ordered_json::array()}};
  for (const auto& row : bill.rows) {
    ordered_json one = {{"keys", ordered_json::object()}};
    for (std::size_t i = 0; i < bill.by.size(); ++i) one["keys"][bill.by[i]] = row.keys[i];
    one.update(json_of(bill, row.energy));
    told["consumers"].push_back(std::move(one));
  }
  told["idle"] = ordered_json();
  for (const Line& line : closing_lines(bill)) told[line.name] = json_of(bill, line.energy);
  told["estimated_joules"] = bill.estimated ? to_joules(*bill.estimated) : 0.0;
  told["covered_s"] = to_seconds(bill.covered);
  told["missing_s"] = to_seconds(bill.missing);
  told["carbon"] = {{"g_per_kwh", to_grams_per_kilowatt_hour(bill.carbon.intensity)},
                    {"place", bill.carbon.place},
                    {"source", bill.carbon.source},
                    {"pue", bill.carbon.pue.value},
                    {"note", bill.carbon.note}};
  told["currency"] = bill.tariff ? ordered_json(std::string(bill.tariff->currency.code())) : ordered_json();
  told["notes"] = bill.notes;
  return told.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace joulery
