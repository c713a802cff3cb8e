#include <string_view>

#include "publish/json_writer.h"
#include "publish/serving.h"

namespace joulery {
namespace {

void write_line(JsonWriter& json, const ServingLine& line) {
  if (!line.name.empty()) json.key("name").text(line.name);
  json.key("tokens_in").number(line.tokens_in);
  json.key("tokens_out").number(line.tokens_out);
  json.key("requests").number(line.requests);
  write_estimate(json, line.joules);
  json.key("quality").text(name_of(line.quality));
  json.key("joules_per_output_token").number(line.figures.joules_per_output_token);
  json.key("joules_per_token").number(line.figures.joules_per_token);
  json.key("joules_per_request").number(line.figures.joules_per_request);
  json.key("output_tokens_per_second_per_watt").number(line.figures.output_tokens_per_second_per_watt);
  json.key("kwh_per_1000_requests").number(line.figures.kwh_per_1000_requests);
}

void write_lines(JsonWriter& json, const std::vector<ServingLine>& lines) {
  json.begin_array();
  for (const ServingLine& line : lines) {
    json.begin_object();
    if (line.name.empty()) json.key("name").null();
    write_line(json, line);
    json.end_object();
  }
  json.end_array();
}

void write_split(JsonWriter& json, const ServingSplit& split) {
  json.begin_object();
  json.key("active_accelerators_joules").energy(split.active_accelerators);
  json.key("active_host_joules").energy(split.active_host);
  json.key("idle_joules").energy(split.idle);
  json.key("unattributed_joules").energy(split.unattributed);
  json.key("idle_watts").number(split.idle_watts);
  json.key("idle_source").text_or_null(split.idle_source);
  json.key("overhead_joules").energy(split.overhead);
  json.key("pue").number(split.pue);
  json.key("reason").text_or_null(split.overhead_reason);
  json.end_object();
}

void write_costs(JsonWriter& json, const ServingReport& report) {
  if (!report.costs) {
    json.null();
    return;
  }
  const ServingCosts& costs = *report.costs;
  const auto fitted = [&](double value) { return costs.weights_fitted ? std::optional(value) : std::nullopt; };
  json.begin_object();
  json.key("fitted").boolean(costs.weights_fitted);
  json.key("joules_per_prompt_token").number(fitted(costs.best.prefill_joules));
  json.key("joules_per_answer_token").number(fitted(costs.best.decode_joules));
  json.key("joules_per_step").number(fitted(costs.best.step_joules));
  json.key("step_seconds").number(report.times.known ? std::optional(report.times.step_s) : std::nullopt);
  json.key("reason").text_or_null(costs.note);
  json.end_object();
}

void write_requests(JsonWriter& json, const std::optional<ServingRequests>& requests) {
  if (!requests) {
    json.null();
    return;
  }
  json.begin_object();
  json.key("count").whole(static_cast<std::int64_t>(requests->count));
  json.key("joules_median").number(requests->joules_median);
  json.key("joules_p95").number(requests->joules_p95);
  json.key("seconds_median").number(requests->seconds_median);
  json.key("first_token_s_median").number(requests->first_token_s_median);
  json.end_object();
}

double since_1970(WallTime t) { return static_cast<double>(t.ns / 1000) * 1e-6; }

}  // namespace

std::string serving_json(const ServingReport& report) {
  JsonWriter json;
  json.begin_object();
  json.key("schema").text("joulery.serving/1");
  json.key("begin").text(report.begin);
  json.key("duration_s").number(report.duration_s);
  json.key("source").text(report.source);
  json.key("endpoint").text_or_null(report.endpoint);
  json.key("server").text_or_null(report.server);
  json.key("energy").begin_object();
  write_estimate(json, report.joules);
  json.key("boundary").text(report.boundary);
  json.key("quality").text(name_of(report.quality));
  json.key("partial").boolean(report.partial);
  write_strings(json.key("missing"), report.missing);
  json.end_object();
  write_split(json.key("split"), report.split);
  json.key("all").begin_object();
  write_line(json, report.all);
  json.end_object();
  json.key("tokens_in_reason").text_or_null(report.tokens_in_reason);
  json.key("tokens_out_reason").text_or_null(report.tokens_out_reason);
  json.key("requests_reason").text_or_null(report.requests_reason);
  write_lines(json.key("models"), report.models);
  write_lines(json.key("groups"), report.groups);
  write_costs(json.key("costs"), report);
  write_requests(json.key("each_request"), report.requests);
  json.key("gaps").begin_array();
  for (const ReportGap& gap : report.gaps) {
    json.begin_object();
    json.key("begin_s").number(gap.begin_s);
    json.key("end_s").number(gap.end_s);
    json.key("reason").text(gap.reason);
    json.end_object();
  }
  json.end_array();
  write_strings(json.key("flags"), report.flags);
  json.end_object();
  return json.str() + "\n";
}

std::string request_line(const ServedRequest& request, const SharedJoules* share, std::string_view tokens_source, int status) {
  JsonWriter json(0);
  json.begin_object();
  json.key("id").text_or_null(request.id);
  json.key("model").text_or_null(request.model);
  json.key("group").text_or_null(request.group);
  json.key("start").number(since_1970(request.start));
  if (request.scheduled) json.key("scheduled").number(since_1970(*request.scheduled));
  json.key("first_token").number(request.first_token ? std::optional(since_1970(*request.first_token)) : std::nullopt);
  json.key("end").number(since_1970(request.end));
  json.key("tokens_in").number(request.tokens_in);
  json.key("tokens_out").number(request.tokens_out);
  if (!tokens_source.empty()) json.key("tokens_source").text(tokens_source);
  if (status != 0) json.key("status").whole(status);
  if (share) {
    write_estimate(json, share->total);
    json.key("accelerators_joules").energy(share->accelerators);
    json.key("host_joules").energy(share->host);
    json.key("quality").text(name_of(share->quality));
  }
  json.end_object();
  return json.str() + "\n";
}

}  // namespace joulery
