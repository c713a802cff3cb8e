#include "app/agent/api_query.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include "app/agent/api.h"
#include "core/units.h"
#include "publish/json_writer.h"
#include "record/import/wall_clock.h"

namespace joulery {
namespace {

constexpr std::int64_t most_steps = 11'000, usual_steps = 300, second_ns = 1'000'000'000;
constexpr double open_step = 0.1;  // of joules and watts, for readers without the token

bool is_series_name(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == ':';
  };
  return !text.empty() && text.size() <= 200 && !(text[0] >= '0' && text[0] <= '9') && std::ranges::all_of(text, fits);
}

bool is_in_calendar(std::int64_t ns) { return ns >= 0 && ns < std::int64_t{9'000'000'000} * second_ns; }

// A number is Unix seconds, whatever its size.
std::optional<WallTime> parse_unix_seconds(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= 0 && value < 9e9)) return std::nullopt;
  return WallTime{static_cast<std::int64_t>(std::llround(value * 1e9))};
}

Result<WallTime> parse_time(const std::string& text, const char* name, WallTime now) {
  if (text == "now") return now;
  std::optional<WallTime> time;
  if (text.starts_with('-')) {
    if (const auto back = parse_duration(std::string_view(text).substr(1))) time = now - *back;
  } else if (time = parse_unix_seconds(text); !time && text.find(':') != std::string::npos) {
    time = parse_wall_time(text, Duration());
  }
  if (!time || !is_in_calendar(time->ns))
    return fail(ErrorCode::usage, fmt::format("'{}' is no time", text), name, "give Unix seconds, 2026-03-01T10:00:00Z, now, or -1h");
  return *time;
}

Result<Duration> parse_step(const std::string& text) {
  const bool bare = std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
  const auto step = parse_duration(bare ? text + "s" : text);
  if (!step || step->base_units() < second_ns)
    return fail(ErrorCode::usage, fmt::format("'{}' is no step", text), "step", "give 1s or more: 10s, 1m, 1h");
  return *step;
}

Result<std::map<std::string, std::string>> parse_labels(const HttpRequest& request) {
  std::map<std::string, std::string> labels;
  for (const auto& [name, value] : request.parameters) {
    if (name != "match") continue;
    const auto equals = value.find('=');
    if (equals == std::string::npos || equals == 0)
      return fail(ErrorCode::usage, fmt::format("'{}' is not LABEL=VALUE", value), "match", "as in match=component=node/gpu/0");
    labels[value.substr(0, equals)] = value.substr(equals + 1);
  }
  return labels;
}

// The least whole number of seconds of which `usual_steps` fill the time.
Duration usual_step(Duration length) {
  const std::int64_t seconds_a_step = (length.base_units() / second_ns + usual_steps - 1) / usual_steps;
  return nanoseconds(std::max<std::int64_t>(1, seconds_a_step) * second_ns);
}

bool is_rounded(std::string_view series) {
  return series.find("joules") != std::string_view::npos || series.find("watts") != std::string_view::npos;
}

void write_series(JsonWriter& json, const HistorySeries& series, bool rounded) {
  json.begin_object().key("labels").begin_object();
  for (const auto& [name, value] : series.labels) json.key(name).text(value);
  json.end_object();
  json.key("points").begin_array();
  bool gaps = series.points.empty();
  for (const HistoryPoint& point : series.points) {
    gaps = gaps || !point.value;
    const auto steps = [](double value) { return std::floor(value / open_step + 1e-9); };
    json.begin_array().number(static_cast<double>(point.at.ns) * 1e-9);
    json.number(point.value && rounded ? std::optional(steps(*point.value) / 10) : point.value).end_array();
  }
  json.end_array();
  json.key("reason").text_or_null(series.reason.empty() && gaps ? "nothing was stored then" : series.reason);
  json.end_object();
}

// Made beside the server's thread: a look through months takes a while.
HttpAnswer query_answer(HistorySource& history, const HistoryQuery& query, bool rounded) {
  const auto found = history.query(query);
  if (!found) return error_answer(found.error());
  JsonWriter json(0);
  json.begin_object().key("schema").text("joulery.query/1");
  json.key("series").text(query.series);
  json.key("from").number(static_cast<double>(query.from.ns) * 1e-9);
  json.key("to").number(static_cast<double>(query.to.ns) * 1e-9);
  json.key("step_seconds").number(to_seconds(query.step));
  json.key("rounded").boolean(rounded);
  json.key("result").begin_array();
  for (const HistorySeries& series : *found) write_series(json, series, rounded);
  json.end_array().end_object();
  HttpAnswer answer;
  answer.body = json.str() + "\n";
  return answer;
}

}  // namespace

Result<HistoryQuery> history_query(const HttpRequest& request, WallTime now) {
  const std::string *series = request.parameter("series"), *from = request.parameter("from"), *to = request.parameter("to"),
                    *step = request.parameter("step");
  if (!series || !is_series_name(*series))
    return fail(ErrorCode::usage, series ? fmt::format("'{}' is no name of a series", *series) : "which series?", "series",
                "as in series=joulery_component_watts; /metrics names them");
  auto labels = parse_labels(request);
  if (!labels) return std::unexpected(labels.error());
  HistoryQuery query{*series, *std::move(labels), {}, now, {}};
  if (to) {
    const auto time = parse_time(*to, "to", now);
    if (!time) return std::unexpected(time.error());
    query.to = *time;
  }
  query.from = query.to - seconds(3600);
  if (from) {
    const auto time = parse_time(*from, "from", now);
    if (!time) return std::unexpected(time.error());
    query.from = *time;
  }
  if (query.from >= query.to) return fail(ErrorCode::usage, "the time ends before it begins", "from", "from must lie before to");
  query.step = usual_step(query.to - query.from);
  if (step) {
    const auto wanted = parse_step(*step);
    if (!wanted) return std::unexpected(wanted.error());
    query.step = *wanted;
  }
  if ((query.to - query.from).base_units() / query.step.base_units() > most_steps)
    return fail(ErrorCode::usage, fmt::format("that is more than {} steps", most_steps), "step", "ask for longer steps or a shorter time");
  return query;
}

HttpAnswer Api::query(const ApiCall& call) {
  const auto query = history_query(call.request, wall_now());
  if (!query) return error_answer(query.error());
  if (!history_) return error_answer({ErrorCode::unsupported, "the agent stores nothing", call.request.path, "start it with --store DIR"});
  HttpAnswer answer;
  answer.later = [history = history_, query = *query, rounded = !call.trusted && is_rounded(query->series)] {
    return query_answer(*history, query, rounded);
  };
  return answer;
}

}  // namespace joulery
