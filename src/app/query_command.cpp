// `joulery query`: series of an agent's store over time.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "app/command.h"
#include "app/command_line.h"
#include "app/sql_rows.h"
#include "app/time_words.h"
#include "app/user_folders.h"
#include "core/units.h"
#include "publish/csv.h"
#include "publish/utf8.h"
#include "record/store/store_reader.h"
#include "record/store/store_sql.h"

namespace joulery {
namespace {

using nlohmann::ordered_json;

struct Question {
  std::string series = "*", store, from = "-1h", to = "now", step, sql;
  std::vector<std::string> labels, by;
  bool total = false, rate = false, list = false, json = false, csv = false, sum = false;
};

// What a value is in, by the end of the series' name as the agent names them.
std::string_view unit_of(std::string_view name, bool rate) {
  constexpr std::pair<std::string_view, std::pair<std::string_view, std::string_view>> units[] = {
      {"_joules", {"J", "W"}}, {"_watts", {"W", "W"}}, {"_seconds", {"s", "s/s"}}, {"_bytes", {"B", "B"}}, {"_celsius", {"°C", "°C"}}};
  for (const auto& [ending, of] : units) {
    if (name.ends_with(ending)) return rate ? of.second : of.first;
  }
  return "";
}

// "component=node/gpu/*", "quality!=estimated".
Result<SeriesMatcher::Label> parse_label(const std::string& text) {
  const std::size_t at = text.find('=');
  if (at == std::string::npos || at == 0 || text.substr(0, at) == "!")
    return fail(ErrorCode::usage, "--label needs LABEL=PATTERN or LABEL!=PATTERN", text, "--label component='node/gpu/*'");
  const bool negated = text[at - 1] == '!';
  return SeriesMatcher::Label{text.substr(0, negated ? at - 1 : at), text.substr(at + 1), negated};
}

// So that a table of the whole time has at most sixty lines a series.
Duration step_for(Duration length) {
  constexpr std::int64_t seconds_of[] = {1, 10, 60, 300, 900, 3600, 6 * 3600, 86'400};
  for (const std::int64_t step : seconds_of) {
    if (length.base_units() / 1'000'000'000 <= step * 60) return seconds(static_cast<double>(step));
  }
  return seconds(7 * 86'400);
}

Result<StoreQuery> store_query(const Question& question) {
  StoreQuery query;
  const WallTime now = wall_now();
  const auto from = parse_time(question.from, "--from", now), to = parse_time(question.to, "--to", now);
  if (!from) return std::unexpected(from.error());
  if (!to) return std::unexpected(to.error());
  if (*to <= *from) return fail(ErrorCode::usage, "--to is not after --from", question.from + " to " + question.to);
  query.from = *from, query.to = *to;
  query.step = step_for(*to - *from);
  if (question.step == "all") query.step = {};
  if (!question.step.empty() && question.step != "all") {
    const auto step = parse_duration(question.step);
    if (!step) return std::unexpected(step.error());
    if (step->base_units() <= 0) return fail(ErrorCode::usage, "--step is no time", question.step, "60s, 1h, or all");
    query.step = *step;
  }
  query.series.name = question.series;
  for (const std::string& text : question.labels) {
    auto label = parse_label(text);
    if (!label) return std::unexpected(label.error());
    query.series.labels.push_back(std::move(*label));
  }
  if (question.sum || !question.by.empty()) query.by = question.by;
  return query;
}

// The total where one step is all there is, else the rate, unless one of them was asked for.
bool wants_rate(const Question& question, const StoreQuery& query) {
  if (question.total || question.rate) return question.rate;
  return query.step != Duration{};
}

std::optional<double> value_of(const SeriesKey& key, const StorePoint& point, bool rate) {
  return rate ? rate_of(key, point) : std::optional(total_of(key, point));
}

std::string key_text(const SeriesKey& key) {
  std::vector<std::string> labels;
  for (const auto& [label, value] : key.labels) labels.push_back(fmt::format("{}={}", printable(label), printable(value)));
  return labels.empty() ? printable(key.name) : fmt::format("{}{{{}}}", printable(key.name), fmt::join(labels, ","));
}

std::string as_csv(const StoreAnswer& answer, bool rate) {
  std::set<std::string> labels;
  for (const auto& series : answer.series) {
    for (const auto& [label, unused] : series.key.labels) labels.insert(label);
  }
  std::string text = "time,series";
  for (const auto& label : labels) text += "," + csv_field(label);
  text += ",value,unit,held_s\n";
  for (const auto& series : answer.series) {
    std::string head = "," + csv_field(series.key.name);
    for (const auto& label : labels) {
      const auto at = series.key.labels.find(label);
      head += "," + (at == series.key.labels.end() ? std::string() : csv_field(at->second));
    }
    for (const StorePoint& point : series.points)
      text += fmt::format("{}{},{},{},{}\n", utc_text(point.begin), head, csv_number(value_of(series.key, point, rate)),
                          unit_of(series.key.name, rate), to_decimal(to_seconds(point.held)));
  }
  return text;
}

double unix_seconds(WallTime at) { return static_cast<double>(at.ns / 1'000'000) * 1e-3; }

std::string as_json(const StoreQuery& query, const StoreAnswer& answer, bool rate) {
  ordered_json told = {{"schema", "joulery.query/1"},      {"from_s", unix_seconds(query.from)},
                       {"to_s", unix_seconds(query.to)},   {"step_s", to_seconds(query.step)},
                       {"value", rate ? "rate" : "total"}, {"covered_s", to_seconds(answer.covered_time())},
                       {"damaged", answer.damaged},        {"notes", answer.notes}};
  told["series"] = ordered_json::array();
  for (const auto& series : answer.series) {
    ordered_json one = {{"name", series.key.name},
                        {"labels", series.key.labels},
                        {"unit", unit_of(series.key.name, rate)},
                        {"kind", series.key.kind == SeriesKind::sum ? "sum" : "mean"},
                        {"points", ordered_json::array()}};
    for (const StorePoint& point : series.points) {
      const auto value = value_of(series.key, point, rate);
      one["points"].push_back({unix_seconds(point.begin), value ? ordered_json(*value) : ordered_json(), to_seconds(point.held)});
    }
    told["series"].push_back(std::move(one));
  }
  return told.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string as_table(const StoreAnswer& answer, bool rate) {
  std::string text;
  for (const auto& series : answer.series) {
    text += key_text(series.key) + "\n";
    for (const StorePoint& point : series.points) {
      const auto value = value_of(series.key, point, rate);
      text += fmt::format("  {:<24}  {:>14} {:<3}  over {}\n", utc_text(point.begin), value ? fmt::format("{:.6g}", *value) : "missing",
                          unit_of(series.key.name, rate), to_text(point.held));
    }
  }
  if (answer.series.empty()) text = "no such series in that time (joulery query --list)\n";
  if (answer.damaged > 0) text += fmt::format("{} blobs are damaged: what they held is missing\n", answer.damaged);
  for (const auto& note : answer.notes) text += "note: " + note + "\n";
  return text;
}

int fail_with(const Error& error) { return complain("query", error, error.code == ErrorCode::usage ? exit_usage : 1); }

int tell(const std::string& text) {
  return put(stdout, text) ? 0 : complain("query", error_from_errno(errno, "cannot write", "standard output"), 1);
}

int list_series(const Question& question, const StoreQuery& query, const StoreReader& reader) {
  const auto keys = reader.list(query.series, query.from, query.to);
  if (!keys) return fail_with(keys.error());
  std::string text;
  ordered_json all = ordered_json::array();
  for (const SeriesKey& key : *keys) {
    if (question.json)
      all.push_back({{"name", key.name}, {"labels", key.labels}, {"kind", key.kind == SeriesKind::sum ? "sum" : "mean"}});
    else
      text += key_text(key) + "\n";
  }
  return tell(question.json ? all.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n" : text);
}

int ask(const Question& question) {
  if (!question.sql.empty()) {
    CsvRows csv;
    JsonRows lines;
    const auto asked = question.json ? query_store(question.store, question.sql, lines) : query_store(question.store, question.sql, csv);
    return asked ? 0 : fail_with(asked.error());
  }
  const auto query = store_query(question);
  if (!query) return fail_with(query.error());
  const auto reader = StoreReader::open(question.store);
  if (!reader) return fail_with(reader.error());
  if (question.list) return list_series(question, *query, *reader);
  const auto answer = reader->query(*query);
  if (!answer) return fail_with(answer.error());
  const bool rate = wants_rate(question, *query);
  if (question.json) return tell(as_json(*query, *answer, rate));
  return tell(question.csv ? as_csv(*answer, rate) : as_table(*answer, rate));
}

}  // namespace

int query_command(std::vector<std::string> arguments) {
  CLI::App app("Asks the store of joulery agent: series over time.", "joulery query");
  Question question;
  question.store = default_store_folder();
  app.add_option("SERIES", question.series, "which series, by name; * and ? stand for other letters: component_joules");
  app.add_option("--label", question.labels, "LABEL=PATTERN or LABEL!=PATTERN; may be given again")->allow_extra_args(false);
  app.add_option("--from", question.from, "from when on: -1h, 2026-03-01, 2026-03-01T12:00:00Z, @SECONDS")->capture_default_str();
  app.add_option("--to", question.to, "up to when")->capture_default_str();
  app.add_option("--step", question.step, "60s, 1h …; all: one value for the whole time");
  app.add_option("--by", question.by, "add up the series that agree in these labels: component,quality")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_flag("--sum", question.sum, "add up all series of a name");
  auto* total = app.add_flag("--total", question.total, "joules in each step");
  app.add_flag("--rate", question.rate, "watts in each step")->excludes(total);
  auto* list = app.add_flag("--list", question.list, "the series that there are");
  app.add_option("--sql", question.sql, "one SELECT over the tables series, rows, minutes, hours")->excludes(list);
  app.add_option("--store", question.store, "the folder of the store")->capture_default_str();
  auto* json = app.add_flag("--json", question.json, "as JSON");
  app.add_flag("--csv", question.csv, "as CSV")->excludes(json);
  if (const auto code = parse(app, std::move(arguments))) return *code;
  return ask(question);
}

}  // namespace joulery
