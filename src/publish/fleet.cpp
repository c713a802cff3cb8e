#include "publish/fleet.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/units.h"
#include "publish/columns.h"
#include "publish/csv.h"
#include "publish/json_writer.h"
#include "publish/numbers.h"
#include "publish/utf8.h"

namespace joulery {
namespace {

constexpr std::array qualities{Quality::measured, Quality::integrated, Quality::derived, Quality::estimated};
constexpr std::size_t most_rows = 50, most_nodes = 10;

std::string utc(WallTime time) {
  const std::time_t whole = static_cast<std::time_t>(time.ns / 1'000'000'000);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}Z", fmt::gmtime(whole));
}

Duration length_of(const FleetReport& report) { return report.facts.to - report.facts.from; }

std::optional<double> mean_watts(const FleetReport& report, const FleetRow& row) {
  const Duration length = length_of(report);
  return length > Duration{} ? std::optional(to_watts(row.energy / length)) : std::nullopt;
}

bool by_kind(const FleetReport& report) { return std::ranges::find(report.choice.by, "kind") != report.choice.by.end(); }

const char* what_of(const FleetRow& row) { return row.idle ? "idle" : row.unattributed ? "unattributed" : "consumer"; }

std::string name_of_row(const FleetRow& row) {
  if (row.idle || row.unattributed) return what_of(row);
  std::string name;
  for (const std::string& part : row.names) name += (name.empty() ? "" : ", ") + (part.empty() ? std::string("(none)") : printable(part));
  return name.empty() ? "all" : name;
}

std::string quality_words(const FleetRow& row) {
  std::string words;
  for (const auto& [quality, energy] : row.by_quality)
    if (energy != Energy{}) words += fmt::format("{}{} {}", words.empty() ? "" : ", ", name_of(quality), percent(energy / row.energy));
  return words;
}

std::string row_words(const FleetReport& report, const FleetRow& row) {
  std::string words = counted(static_cast<std::int64_t>(row.nodes), "node");
  if (row.grams) words += ", " + to_text(grams(*row.grams));
  if (row.cost && report.cost) words += fmt::format(", {} {}", compact(*row.cost), report.cost->currency);
  if (const std::string known = quality_words(row); !known.empty()) words += ", " + known;
  return words;
}

TableRow table_row(const FleetReport& report, const FleetRow& row) {
  TableRow line{.name = name_of_row(row), .energy = to_text(row.energy)};
  if (report.total.energy > Energy{}) {
    line.share = percent(row.energy / report.total.energy);
    line.bar = std::clamp(row.energy / report.total.energy, 0.0, 1.0);
  }
  if (const auto watts_ = mean_watts(report, row)) line.watts = to_text(watts(*watts_));
  line.words = row_words(report, row);
  return line;
}

std::string heading_of(const FleetReport& report) {
  std::string name;
  for (const std::string& by : report.choice.by) name += (name.empty() ? "" : ", ") + printable(by);
  return report.choice.kind.empty() || by_kind(report) ? name : fmt::format("{} by {}", report.choice.kind, name);
}

std::string table(const FleetReport& report, const TextStyle& style) {
  std::vector<TableRow> rows;
  rows.push_back({.heading = true, .name = heading_of(report), .energy = "energy", .share = "share", .watts = "mean", .words = "of"});
  std::size_t shown = 0, hidden = 0;
  Energy rest;
  for (const FleetRow& row : report.rows) {
    if (row.idle || row.unattributed || shown++ < most_rows) {
      rows.push_back(table_row(report, row));
    } else {
      ++hidden;
      rest += row.energy;
    }
  }
  if (hidden)
    rows.push_back({.name = fmt::format("and {} more", hidden), .energy = to_text(rest), .words = "--json and --csv list them all"});
  rows.push_back({.heading = true});
  TableRow total = table_row(report, report.total);
  total.name = "total";
  rows.push_back(std::move(total));
  return table_text(std::move(rows), style);
}

std::string names_of(const std::vector<NodeGap>& gaps, bool (*wanted)(const NodeGap&), bool with_time) {
  std::string names;
  std::size_t count = 0;
  for (const NodeGap& gap : gaps) {
    if (!wanted(gap)) continue;
    if (++count > most_nodes) continue;
    names += (names.empty() ? "" : ", ") + printable(gap.node);
    if (with_time) names += fmt::format(" ({} or more)", to_text(gap.silent));
  }
  return count > most_nodes ? fmt::format("{} and {} more", names, count - most_nodes) : names;
}

std::string notes(const FleetReport& report, const TextStyle& style) {
  std::string text;
  const auto add = [&](const char* label, const std::string& words, Ink ink) {
    if (!words.empty()) text += labelled(label, words, style, ink);
  };
  if (report.choice.kind.empty() && !by_kind(report) && report.idle)
    add("Idle", fmt::format("{} of the total is idle power", to_text(*report.idle)), Ink::plain);
  if (report.choice.kind.empty() && !by_kind(report) && report.unattributed)
    add("Nobody's", fmt::format("{} of the total is unattributed", to_text(*report.unattributed)), Ink::plain);
  if (by_kind(report)) add("Kinds", "each is another view of the same joules: they do not add up with each other", Ink::dim);
  if (report.carbon)
    add("Carbon",
        fmt::format("{} g/kWh, {}, PUE {}{}", compact(report.carbon->g_per_kwh), printable(report.carbon->source),
                    to_decimal(report.carbon->pue), report.carbon->note.empty() ? "" : "; " + printable(report.carbon->note)),
        Ink::dim);
  add("Cost", report.cost ? "" : report.cost_reason, Ink::dim);
  add("Missing", names_of(report.facts.gaps, [](const NodeGap& gap) { return gap.missing; }, false), Ink::bad);
  add("Silent", names_of(report.facts.gaps, [](const NodeGap& gap) { return gap.at_end && !gap.missing; }, true), Ink::bad);
  add("Gaps", names_of(report.facts.gaps, [](const NodeGap& gap) { return !gap.at_end; }, true), Ink::poor);
  if (!report.missing_readings.empty()) {
    const SeriesRise& most = report.missing_readings.front();
    const auto value = [&](const char* name) { return most.labels.contains(name) ? printable(most.labels.at(name)) : std::string(); };
    add("Readings",
        fmt::format("{} of nodes' meters were missing for a time, longest {} of {}: {} ({})", report.missing_readings.size(),
                    value("meter"),
                    printable(most.labels.contains(report.choice.node_label) ? most.labels.at(report.choice.node_label) : ""),
                    to_text(nanoseconds(most.micro * 1000)), value("reason")),
        Ink::poor);
  }
  if (report.inconsistent)
    add("Odd",
        fmt::format("the consumers of {} are above the whole: the engine lacks samples",
                    counted(static_cast<std::int64_t>(report.inconsistent), "component")),
        Ink::bad);
  return text;
}

void write_row(JsonWriter& json, const FleetReport& report, const FleetRow& row) {
  json.key("what").text(what_of(row));
  json.key("labels").begin_object();
  for (std::size_t i = 0; i < row.names.size(); ++i) json.key(report.choice.by[i]).text_or_null(row.names[i]);
  json.end_object();
  json.key("joules").energy(row.energy);
  json.key("by_quality").begin_object();
  for (const auto& [quality, energy] : row.by_quality) json.key(name_of(quality)).energy(energy);
  json.end_object();
  json.key("mean_watts").number(mean_watts(report, row));
  json.key("grams").number(row.grams);
  json.key("cost").number(row.cost);
  json.key("nodes").whole(static_cast<std::int64_t>(row.nodes));
}

void write_gaps(JsonWriter& json, const FleetReport& report) {
  json.key("gaps").begin_array();
  for (const NodeGap& gap : report.facts.gaps) {
    json.begin_object();
    json.key("node").text(gap.node);
    json.key("silent_s").number(to_seconds(gap.silent));
    json.key("missing").boolean(gap.missing);
    json.key("at_end").boolean(gap.at_end);
    json.end_object();
  }
  json.end_array();
  json.key("missing_readings").begin_array();
  for (const SeriesRise& series : report.missing_readings) {
    json.begin_object();
    json.key("labels").begin_object();
    for (const auto& [name, value] : series.labels) json.key(name).text(value);
    json.end_object();
    json.key("seconds").number(static_cast<double>(series.micro) / 1e6);
    json.end_object();
  }
  json.end_array();
}

}  // namespace

std::string fleet_text(const FleetReport& report, const TextStyle& style) {
  const std::string head = fmt::format("Fleet {} to {}, {}, {}", utc(report.facts.from), utc(report.facts.to), to_text(length_of(report)),
                                       printable(report.facts.source));
  return painted(head, Ink::strong, style) + "\n\n" + table(report, style) + "\n" + notes(report, style);
}

std::string fleet_json(const FleetReport& report) {
  JsonWriter json;
  json.begin_object();
  json.key("schema").text("joulery.fleet/1");
  json.key("source").text(report.facts.source);
  json.key("from").text(utc(report.facts.from));
  json.key("to").text(utc(report.facts.to));
  json.key("seconds").number(to_seconds(length_of(report)));
  json.key("kind").text_or_null(report.choice.kind);
  json.key("by").begin_array();
  for (const std::string& by : report.choice.by) json.text(by);
  json.end_array();
  json.key("rows").begin_array();
  for (const FleetRow& row : report.rows) {
    json.begin_object();
    write_row(json, report, row);
    json.end_object();
  }
  json.end_array();
  json.key("total").begin_object();
  json.key("joules").energy(report.total.energy);
  json.key("by_quality").begin_object();
  for (const auto& [quality, energy] : report.total.by_quality) json.key(name_of(quality)).energy(energy);
  json.end_object();
  json.key("idle_joules").energy(report.idle);
  json.key("unattributed_joules").energy(report.unattributed);
  json.key("mean_watts").number(mean_watts(report, report.total));
  json.key("grams").number(report.total.grams);
  json.key("cost").number(report.total.cost);
  json.key("currency").text_or_null(report.cost ? report.cost->currency : "");
  json.key("nodes").whole(static_cast<std::int64_t>(report.total.nodes));
  json.end_object();
  json.key("carbon_g_per_kwh").number(report.carbon ? std::optional(report.carbon->g_per_kwh) : std::nullopt);
  json.key("carbon_note").text_or_null(report.carbon ? report.carbon->note : "");
  json.key("inconsistent").whole(static_cast<std::int64_t>(report.inconsistent));
  write_gaps(json, report);
  json.end_object();
  return json.str() + "\n";
}

std::string fleet_csv(const FleetReport& report) {
  std::string out;
  for (const std::string& by : report.choice.by) out += csv_field(by) + ",";
  out += "what,joules,measured,integrated,derived,estimated,mean_watts,grams,cost,currency,nodes\n";
  for (const FleetRow& row : report.rows) {
    for (const std::string& name : row.names) out += csv_field(name) + ",";
    out += fmt::format("{},{}", what_of(row), exact_joules(row.energy));
    for (const Quality quality : qualities) {
      const auto found = row.by_quality.find(quality);
      out += "," + (found == row.by_quality.end() ? std::string() : exact_joules(found->second));
    }
    out += fmt::format(",{},{},{},{},{}\n", csv_number(mean_watts(report, row)), csv_number(row.grams), csv_number(row.cost),
                       report.cost ? csv_field(report.cost->currency) : "", row.nodes);
  }
  return out;
}

}  // namespace joulery
