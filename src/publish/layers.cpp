#include "publish/layers.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/component.h"
#include "core/units.h"
#include "publish/numbers.h"
#include "publish/utf8.h"

namespace joulery {
namespace {

void write_part(JsonWriter& json, const ReportLayerPart& part) {
  json.begin_object();
  json.key("path").text(part.path);
  json.key("label").text(part.label);
  write_estimate(json, part.joules);
  json.key("share").number(part.share);
  json.key("quality").text(name_of(part.quality));
  json.key("meter").text_or_null(part.meter);
  json.key("reason").text_or_null(part.joules && !part.share && part.reason.empty() ? "the whole of this layer is not known" : part.reason);
  json.end_object();
}

void write_residual(JsonWriter& json, const ReportResidual& residual) {
  json.begin_object();
  write_estimate(json, residual.joules);
  json.key("share").number(residual.share);
  json.key("likely").text_or_null(residual.likely);
  json.key("reason").text_or_null(residual.reason);
  json.end_object();
}

void write_layer(JsonWriter& json, const ReportLayer& layer) {
  json.begin_object();
  json.key("name").text(layer.name);
  json.key("label").text(layer.label);
  write_estimate(json, layer.joules);
  json.key("quality").text(name_of(layer.quality));
  json.key("partial").boolean(layer.partial);
  json.key("meter").text_or_null(layer.meter);
  json.key("reason").text_or_null(layer.reason);
  json.key("begin_s").number(layer.begin_s);
  json.key("end_s").number(layer.end_s);
  json.key("parts").begin_array();
  for (const ReportLayerPart& part : layer.parts) write_part(json, part);
  json.end_array();
  write_residual(json.key("residual"), layer.residual);
  json.end_object();
}

void write_delay(JsonWriter& json, const ReportDelay& delay) {
  json.begin_object();
  json.key("path").text(delay.path);
  json.key("meter").text(delay.meter);
  json.key("reference").text_or_null(delay.reference);
  json.key("milliseconds").number(delay.milliseconds);
  json.key("low").number(delay.low);
  json.key("high").number(delay.high);
  json.key("correlation").number(delay.correlation);
  json.key("reason").text_or_null(delay.reason);
  json.end_object();
}

// Joined with "; ", without what is empty.
std::string joined(std::initializer_list<std::string> texts) {
  std::string all;
  for (const std::string& text : texts)
    if (!text.empty()) all += (all.empty() ? "" : "; ") + text;
  return all;
}

}  // namespace

bool tells_layers(const Report& report) {
  return std::ranges::any_of(report.layers, [](const ReportLayer& layer) { return layer.name != "workloads" && layer.joules; });
}

bool is_wall(const ReportComponent& component) { return Component(component.path).at_wall(); }

std::string layer_words(const ReportLayer& layer, double duration_s) {
  std::string how;
  if (layer.joules) how = std::string(name_of(layer.quality)) + (layer.meter.empty() ? "" : ", " + printable(layer.meter));
  std::string when;
  if (layer.joules && (layer.begin_s > 0 || layer.end_s < duration_s))
    when = fmt::format("from {} to {} of the run", to_text(seconds(layer.begin_s)), to_text(seconds(layer.end_s)));
  return joined({how, printable(layer.reason), when});
}

std::string part_words(const ReportLayerPart& part) {
  std::string how;
  if (part.joules) how = std::string(name_of(part.quality)) + (part.meter.empty() ? "" : ", " + printable(part.meter));
  return joined({how, printable(part.reason)});
}

std::string residual_words(const ReportLayer& layer) {
  const ReportResidual& residual = layer.residual;
  // A negative residual is no fan's.
  const bool named = residual.reason.empty() && residual.joules && !residual.likely.empty();
  return named ? (layer.name == "workloads" ? "" : "probably ") + printable(residual.likely) : printable(residual.reason);
}

std::string delay_words(const ReportDelay& delay) {
  const std::string who = fmt::format("{}, {}", printable(delay.path), printable(delay.meter));
  const std::string sure = delay.correlation ? fmt::format("correlation {:.2f}", *delay.correlation) : "";
  if (!delay.milliseconds) return fmt::format("{}: not known: {}{}", who, printable(delay.reason), sure.empty() ? "" : " (" + sure + ")");
  const auto whole = [](double ms) { return grouped(to_whole(ms)); };
  return fmt::format("{}: {} ms ({} to {} ms) after {}, {}", who, whole(*delay.milliseconds), whole(*delay.low), whole(*delay.high),
                     printable(delay.reference), sure);
}

void write_layers(JsonWriter& json, const Report& report) {
  json.key("layers").begin_array();
  for (const ReportLayer& layer : report.layers) write_layer(json, layer);
  json.end_array();
  json.key("meter_delays").begin_array();
  for (const ReportDelay& delay : report.delays) write_delay(json, delay);
  json.end_array();
}

std::string ledger_json(const Report& report, int indent) {
  JsonWriter json(indent);
  json.begin_object();
  json.key("schema").text("joulery.ledger/1");
  json.key("command").begin_array();
  for (const std::string& word : report.command) json.text(word);
  json.end_array();
  json.key("begin").text_or_null(report.begin);
  json.key("duration_s").number(report.duration_s);
  json.key("boundary").text(report.energy.boundary);
  write_layers(json, report);
  json.end_object();
  return json.str() + "\n";
}

}  // namespace joulery
