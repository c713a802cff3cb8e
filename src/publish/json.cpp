#include "publish/json.h"

#include <array>

#include "publish/hosts.h"
#include "publish/layers.h"
#include "publish/reasons.h"

namespace joulery {
namespace {

// How many of the counted joules are known in which way; their sum is energy.joules.
void write_by_quality(JsonWriter& json, const Report& report) {
  if (!report.energy.joules) {
    json.null();
    return;
  }
  std::array<Energy, 4> sums{};
  for (const ReportComponent& c : report.components)
    if (!c.overlap && c.joules && c.quality != Quality::missing) sums[static_cast<std::size_t>(c.quality)] += c.joules->value;
  json.begin_object();
  for (std::size_t q = 0; q < sums.size(); ++q) json.key(name_of(static_cast<Quality>(q))).energy(sums[q]);
  json.end_object();
}

void write_energy(JsonWriter& json, const Report& report) {
  json.begin_object();
  write_estimate(json, report.energy.joules);
  json.key("boundary").text(report.energy.boundary);
  json.key("quality").text(name_of(report.energy.quality));
  json.key("partial").boolean(report.energy.partial);
  write_strings(json.key("missing"), report.energy.missing);
  json.key("reason").text_or_null(reason_of(report.energy));
  write_by_quality(json.key("by_quality"), report);
  json.end_object();
}

void write_component(JsonWriter& json, const ReportComponent& c) {
  json.begin_object();
  json.key("path").text(c.path);
  json.key("label").text(c.label);
  write_estimate(json, c.joules);
  json.key("share").number(c.share);
  json.key("mean_watts").number(c.mean_watts);
  json.key("peak_watts").number(c.peak_watts);
  json.key("quality").text(name_of(c.quality));
  json.key("meter").text_or_null(c.meter);
  std::string reason = reason_of(c);
  if (reason.empty() && c.overlap)
    reason = is_wall(c) ? "contains what is counted: see layers" : "contained in a row that is counted";
  else if (reason.empty() && (!c.share || !c.mean_watts || !c.peak_watts))
    reason = "too few readings";
  json.key("reason").text_or_null(reason);
  json.key("overlap").boolean(c.overlap);
  json.end_object();
}

void write_phase(JsonWriter& json, const ReportPhase& phase) {
  json.begin_object();
  json.key("name").text(phase.name);
  json.key("begin_s").number(phase.begin_s);
  json.key("end_s").number(phase.end_s);
  json.key("seconds").number(phase.seconds);
  json.key("joules").energy(phase.joules);
  json.key("reason").text_or_null(reason_of(phase));
  json.end_object();
}

void write_steps(JsonWriter& json, const ReportSteps& steps) {
  json.begin_object();
  json.key("count").whole(steps.count);
  json.key("joules_median").number(steps.joules_median);
  json.key("joules_p95").number(steps.joules_p95);
  json.key("seconds_median").number(steps.seconds_median);
  json.key("marks_lost").whole(steps.marks_lost);
  json.key("reason").text_or_null(reason_of(steps));
  json.end_object();
}

void write_work(JsonWriter& json, const ReportWork& work) {
  json.begin_object();
  json.key("unit").text(work.unit);
  json.key("count").number(work.count);
  json.key("joules_per_unit").number(work.joules_per_unit);
  json.key("units_per_joule").number(work.units_per_joule);
  json.key("kwh_per_1000").number(work.kwh_per_1000);
  json.key("units_per_second").number(work.units_per_second);
  json.key("units_per_second_per_watt").number(work.units_per_second_per_watt);
  json.key("reason").text_or_null(reason_of(work));
  json.end_object();
}

void write_kpi(JsonWriter& json, const ReportKpi& kpi) {
  json.begin_object();
  json.key("name").text(kpi.name);
  json.key("last").number(kpi.last);
  json.key("joules_at_last").number(kpi.joules_at_last);
  json.key("reason").text_or_null(reason_of(kpi));
  json.key("count").whole(kpi.count);
  json.key("better").text_or_null(kpi.better);
  json.key("first").number(kpi.first);
  json.key("best").number(kpi.best);
  json.key("joules_at_best").number(kpi.joules_at_best);
  json.key("gained").number(kpi.gained);
  json.key("point").number(kpi.point);
  json.key("joules_per_point").number(kpi.joules_per_point);
  json.key("gain_reason").text_or_null(gain_reason_of(kpi));
  json.key("points").begin_array();
  for (const ReportKpiPoint& point : kpi.points) {
    json.begin_object();
    json.key("time_s").number(point.time_s);
    json.key("value").number(point.value);
    json.key("joules").number(point.joules);
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

void write_process(JsonWriter& json, const ReportProcess& process) {
  json.begin_object();
  json.key("pid").whole(process.pid);
  json.key("host").text_or_null(process.host);
  json.key("name").text(process.name);
  json.key("cpu_s").number(process.cpu_s);
  json.key("joules").energy(process.joules);
  json.key("share").number(process.share);
  json.key("reason").text_or_null(reason_of(process));
  json.end_object();
}

void write_power_limit(JsonWriter& json, const ReportPowerLimit& limit) {
  json.begin_object();
  json.key("component").text(limit.path);
  json.key("name").text(limit.name);
  json.key("asked_watts").number(limit.asked_watts);
  json.key("watts").number(limit.watts);
  json.key("before_watts").number(limit.before_watts);
  json.key("enforced_watts").number(limit.enforced_watts);
  json.key("by").text(limit.by);
  json.key("joules").energy(limit.joules);
  json.key("mean_watts").number(limit.mean_watts);
  json.key("reason").text_or_null(limit.reason);
  json.key("changed").text_or_null(limit.changed);
  json.end_object();
}

void write_baseline(JsonWriter& json, const Report& report) {
  const ReportBaseline none{};
  const ReportBaseline& baseline = report.baseline ? *report.baseline : none;
  json.begin_object();
  json.key("watts").number(baseline.watts);
  json.key("joules").energy(baseline.joules);
  json.key("source").text_or_null(baseline.source);
  json.key("reason").text_or_null(report.baseline ? reason_of(baseline) : baseline_reason(report));
  json.end_object();
}

void write_carbon(JsonWriter& json, const Report& report) {
  const ReportCarbon none{};
  const bool known = report.carbon.has_value();
  const ReportCarbon& carbon = known ? *report.carbon : none;
  json.begin_object();
  json.key("grams").number(carbon.grams);
  json.key("low").number(carbon.low);
  json.key("high").number(carbon.high);
  json.key("g_per_kwh").number(known ? std::optional(carbon.g_per_kwh) : std::nullopt);
  json.key("pue").number(known ? std::optional(carbon.pue) : std::nullopt);
  json.key("boundary").text_or_null(known ? carbon.boundary : "");
  json.key("place").text_or_null(carbon.place);
  json.key("source").text_or_null(carbon.source);
  if (carbon.year != 0)
    json.key("year").whole(carbon.year);
  else
    json.key("year").null();
  json.key("note").text_or_null(carbon.note);
  json.key("reason").text_or_null(known ? reason_of(carbon) : carbon_reason(report));
  json.end_object();
}

void write_cost(JsonWriter& json, const Report& report) {
  json.begin_object();
  json.key("amount").number(report.cost ? std::optional(report.cost->amount) : std::nullopt);
  json.key("currency").text_or_null(report.cost ? report.cost->currency : "");
  json.key("source").text_or_null(report.cost ? report.cost->source : "");
  json.key("boundary").text_or_null(report.cost ? report.cost->boundary : "");
  json.key("reason").text_or_null(cost_reason(report));
  json.end_object();
}

void write_gap(JsonWriter& json, const ReportGap& gap) {
  json.begin_object();
  json.key("begin_s").number(gap.begin_s);
  json.key("end_s").number(gap.end_s);
  json.key("reason").text(gap.reason);
  json.key("energy_lost").boolean(gap.energy_lost);
  json.end_object();
}

void write_sampling(JsonWriter& json, const ReportSampling& sampling) {
  json.begin_object();
  json.key("interval_s").number(sampling.interval_s);
  json.key("rounds").whole(sampling.rounds);
  json.key("missed").whole(sampling.missed);
  json.key("gaps").begin_array();
  for (const ReportGap& gap : sampling.gaps) write_gap(json, gap);
  json.end_array().end_object();
}

template <class T>
void write_all(JsonWriter& json, std::string_view name, const std::vector<T>& values, void (*write)(JsonWriter&, const T&)) {
  json.key(name).begin_array();
  for (const T& value : values) write(json, value);
  json.end_array();
}

}  // namespace

void write_report(JsonWriter& json, const Report& report) {
  json.begin_object();
  json.key("schema").text("joulery.report/1");
  write_strings(json.key("command"), report.command);
  if (report.exit_code)
    json.key("exit_code").whole(*report.exit_code);
  else
    json.key("exit_code").null();
  json.key("exit_reason").text_or_null(exit_reason(report));
  json.key("begin").text_or_null(report.begin);
  json.key("duration_s").number(report.duration_s);
  json.key("mean_watts").number(report.mean_watts);
  json.key("peak_watts").number(report.peak_watts);
  json.key("power_reason").text_or_null(power_reason(report));
  write_energy(json.key("energy"), report);
  write_all(json, "components", report.components, write_component);
  write_all(json, "phases", report.phases, write_phase);
  write_steps(json.key("steps"), report.steps);
  write_hosts(json, report);
  write_all(json, "work", report.work, write_work);
  write_all(json, "kpis", report.kpis, write_kpi);
  write_all(json, "processes", report.processes, write_process);
  write_layers(json, report);
  write_baseline(json.key("baseline"), report);
  if (!report.power_limits.empty()) write_all(json, "power_limits", report.power_limits, write_power_limit);
  write_carbon(json.key("carbon"), report);
  write_cost(json.key("cost"), report);
  write_sampling(json.key("sampling"), report.sampling);
  write_strings(json.key("flags"), report.flags);
  json.end_object();
}

std::string report_json(const Report& report, int indent) {
  JsonWriter json(indent);
  write_report(json, report);
  return json.str() + "\n";
}

}  // namespace joulery
