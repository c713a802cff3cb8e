// /api/v1/meters and /api/v1/health.
#include <algorithm>

#include "app/agent/api.h"
#include "publish/json_writer.h"

namespace joulery {
namespace {

std::string_view meter_reason(const MeterState& meter) {
  if (!meter.finding.reason.empty()) return meter.finding.reason;
  return meter.finding.readable && !meter.age ? "not read yet" : "";
}

void write_meter(JsonWriter& json, const MeterState& meter) {
  json.begin_object();
  json.key("kind").text(meter.finding.kind);
  json.key("device").text_or_null(meter.finding.device);
  json.key("found").boolean(meter.finding.found);
  json.key("readable").boolean(meter.finding.readable);
  json.key("components").begin_array();
  for (const std::string& component : meter.components) json.text(component);
  json.end_array();
  json.key("age_seconds").number(meter.age ? std::optional(to_seconds(*meter.age)) : std::nullopt);
  json.key("reason").text_or_null(meter_reason(meter));
  json.key("remedy").text_or_null(meter.finding.remedy);
  json.end_object();
}

void write_part(JsonWriter& json, const HealthPart& part) {
  json.begin_object();
  json.key("name").text(part.name);
  json.key("well").boolean(part.well);
  json.key("reason").text_or_null(part.reason);
  json.end_object();
}

}  // namespace

HttpAnswer Api::meters(const ApiCall&) {
  JsonWriter json(0);
  json.begin_object().key("schema").text("joulery.meters/1");
  json.key("meters").begin_array();
  for (const MeterState& meter : view_.meters()) write_meter(json, meter);
  json.end_array().end_object();
  HttpAnswer answer;
  answer.body = json.str() + "\n";
  return answer;
}

// Says "starting", "ok" or "degraded"; a supervisor that looks at the status alone sees 503 before the first tick.
HttpAnswer Api::health(const ApiCall& call) {
  const AgentHealth health = view_.health();
  const NodeAccount* now = account(call.trusted);
  const bool well = std::ranges::all_of(health.parts, &HealthPart::well) && (!now || now->violations == 0);
  JsonWriter json(0);
  json.begin_object().key("schema").text("joulery.health/1");
  json.key("status").text(!now ? "starting" : well ? "ok" : "degraded");
  json.key("version").text(version_);
  json.key("uptime_seconds").number(to_seconds(health.uptime));
  json.key("interval_seconds").number(to_seconds(health.interval));
  json.key("ticks").whole(health.ticks);
  json.key("late_ticks").whole(health.late_ticks);
  json.key("violations").whole(now ? now->violations : 0);
  json.key("cpu_seconds").raw(now ? MetricValue::of(now->own_cpu).text() : "null");
  json.key("resident_bytes").raw(now ? std::to_string(now->own_memory) : "null");
  json.key("reason").text_or_null(now ? "" : "the first tick is not over yet");
  json.key("parts").begin_array();
  for (const HealthPart& part : health.parts) write_part(json, part);
  json.end_array().end_object();
  HttpAnswer answer;
  answer.status = now ? 200 : 503;
  answer.body = json.str() + "\n";
  return answer;
}

}  // namespace joulery
