#include "publish/repeats.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "publish/json.h"
#include "publish/json_writer.h"

namespace joulery {
namespace {

using Figure = std::optional<double>;

Spread spread_over(std::span<const Report> runs, const std::function<Figure(const Report&)>& figure) {
  std::vector<Figure> values;
  for (const Report& run : runs) values.push_back(figure(run));
  return spread_of(values);
}

Figure joules_of(const std::optional<Estimate>& value) { return value ? Figure(to_joules(value->value)) : std::nullopt; }

Figure component_joules(const Report& run, const std::string& path) {
  for (const ReportComponent& c : run.components)
    if (c.path == path) return c.quality == Quality::missing ? std::nullopt : joules_of(c.joules);
  return std::nullopt;
}

Figure work_joules(const Report& run, const std::string& unit) {
  for (const ReportWork& work : run.work)
    if (work.unit == unit) return work.joules_per_unit;
  return std::nullopt;
}

void add_components(std::span<const Report> runs, Repeats& out) {
  for (const Report& run : runs)
    for (const ReportComponent& c : run.components) {
      const auto same = [&](const RepeatedComponent& known) { return known.path == c.path; };
      if (std::any_of(out.components.begin(), out.components.end(), same)) continue;
      out.components.push_back(
          {c.path, c.label, c.overlap, spread_over(runs, [&](const Report& r) { return component_joules(r, c.path); })});
    }
}

void add_work(std::span<const Report> runs, Repeats& out) {
  for (const Report& run : runs)
    for (const ReportWork& work : run.work) {
      const auto same = [&](const RepeatedWork& known) { return known.unit == work.unit; };
      if (std::any_of(out.work.begin(), out.work.end(), same)) continue;
      out.work.push_back({work.unit, spread_over(runs, [&](const Report& r) { return work_joules(r, work.unit); })});
    }
}

void write_spread(JsonWriter& json, const Spread& spread) {
  json.begin_object();
  json.key("count").whole(spread.count);
  json.key("missing").whole(spread.missing);
  json.key("mean").number(spread.mean);
  json.key("deviation").number(spread.deviation);
  json.key("min").number(spread.least);
  json.key("max").number(spread.greatest);
  if (spread.count == 0)
    json.key("reason").text("no run has this figure");
  else if (spread.count == 1)
    json.key("reason").text("one run has no deviation");
  else
    json.key("reason").null();
  json.end_object();
}

void write_summary(JsonWriter& json, const Repeats& repeats) {
  json.begin_object();
  json.key("runs").whole(repeats.runs);
  json.key("failed").whole(repeats.failed);
  json.key("partial").whole(repeats.partial);
  write_spread(json.key("joules"), repeats.joules);
  write_spread(json.key("duration_s"), repeats.seconds);
  write_spread(json.key("mean_watts"), repeats.watts);
  json.key("components").begin_array();
  for (const RepeatedComponent& c : repeats.components) {
    json.begin_object();
    json.key("path").text(c.path);
    json.key("label").text(c.label);
    json.key("overlap").boolean(c.overlap);
    write_spread(json.key("joules"), c.joules);
    json.end_object();
  }
  json.end_array();
  json.key("work").begin_array();
  for (const RepeatedWork& work : repeats.work) {
    json.begin_object();
    json.key("unit").text(work.unit);
    write_spread(json.key("joules_per_unit"), work.joules_per_unit);
    json.end_object();
  }
  json.end_array().end_object();
}

}  // namespace

Spread spread_of(std::span<const std::optional<double>> values) {
  Spread out;
  double sum = 0;
  for (const Figure& value : values) {
    if (!value || !std::isfinite(*value)) {
      ++out.missing;
      continue;
    }
    ++out.count;
    sum += *value;
    out.least = std::min(out.least.value_or(*value), *value);
    out.greatest = std::max(out.greatest.value_or(*value), *value);
  }
  if (out.count == 0) return out;
  out.mean = sum / static_cast<double>(out.count);
  if (out.count < 2) return out;
  double squares = 0;
  for (const Figure& value : values)
    if (value && std::isfinite(*value)) squares += (*value - *out.mean) * (*value - *out.mean);
  out.deviation = std::sqrt(squares / static_cast<double>(out.count - 1));
  return out;
}

Repeats summarise(std::span<const Report> runs) {
  Repeats out;
  if (!runs.empty()) out.command = runs.front().command;
  out.runs = static_cast<std::int64_t>(runs.size());
  for (const Report& run : runs) {
    out.failed += run.exit_code != 0;
    out.partial += run.energy.partial;
  }
  out.joules = spread_over(runs, [](const Report& r) { return joules_of(r.energy.joules); });
  out.seconds = spread_over(runs, [](const Report& r) { return Figure(r.duration_s); });
  out.watts = spread_over(runs, [](const Report& r) { return r.mean_watts; });
  add_components(runs, out);
  add_work(runs, out);
  return out;
}

std::string repeats_json(std::span<const Report> runs, int indent) {
  JsonWriter json(indent);
  json.begin_object();
  json.key("schema").text("joulery.repeats/1");
  json.key("runs").begin_array();
  for (const Report& run : runs) write_report(json, run);
  json.end_array();
  write_summary(json.key("summary"), summarise(runs));
  json.end_object();
  return json.str() + "\n";
}

}  // namespace joulery
