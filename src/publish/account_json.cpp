#include "publish/account_json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <numeric>
#include <optional>
#include <vector>

#include "publish/consumers.h"
#include "publish/metric.h"

namespace joulery {
namespace {

constexpr std::string_view not_yet = "known after the next tick";

Energy sum_of(const std::map<Quality, Energy>& known) {
  Energy sum;
  for (const auto& [quality, energy] : known) sum += energy;
  return sum;
}

Energy sum_of(const std::vector<Energy>& energies) { return std::accumulate(energies.begin(), energies.end(), Energy()); }

std::optional<double> number_of(const std::optional<Power>& power) { return power ? std::optional(to_watts(*power)) : std::nullopt; }

void write_component(JsonWriter& json, const ComponentAccount& part, bool overlap) {
  json.begin_object();
  json.key("path").text(part.component);
  json.key("overlap").boolean(overlap);
  json.key("meter").text_or_null(part.meter);
  json.key("quality").text(name_of(part.quality));
  json.key("joules").energy(part.energy.empty() ? std::nullopt : std::optional(sum_of(part.energy)));
  json.key("joules_by_quality").begin_object();
  for (const auto& [quality, energy] : part.energy) json.key(name_of(quality)).energy(energy);
  json.end_object();
  json.key("watts").number(number_of(part.power));
  json.key("idle_watts").number(number_of(part.idle));
  const bool unknown = !part.power || part.energy.empty();
  json.key("reason").text_or_null(part.reason.empty() && unknown ? not_yet : part.reason);
  json.end_object();
}

// Joules and watts over all components of one of the kinds that every other kind shares.
void write_common(JsonWriter& json, std::string_view key, const NodeAccount& account, ConsumerKind kind) {
  Energy joules;
  std::optional<Power> power;
  for (const ConsumerAccount& consumer : account.consumers) {
    if (consumer.kind != kind) continue;
    joules += sum_of(consumer.energy);
    if (consumer.power) power = power.value_or(Power()) + *consumer.power;
  }
  json.key(key).begin_object();
  json.key("joules").energy(joules);
  json.key("watts").number(number_of(power));
  json.key("reason").text_or_null(power ? std::string_view() : not_yet);
  json.end_object();
}

// The power of the node: the sum of what is known, and whose is not.
void write_power(JsonWriter& json, const NodeAccount& account) {
  std::vector<std::string> unknown;
  for (const ComponentAccount& part : account.components)
    if (!part.power) unknown.push_back(part.component);
  json.key("watts").number(number_of(node_power(account)));
  json.key("partial").boolean(!unknown.empty());
  json.key("reason").text_or_null(unknown.empty() ? "" : fmt::format("not known: {}", fmt::join(unknown, ", ")));
}

Quality worst_quality(const NodeAccount& account) {
  Quality quality = account.components.empty() ? Quality::missing : Quality::measured;
  for (const ComponentAccount& part : account.components) quality = worst(quality, part.quality);
  return quality;
}

}  // namespace

void write_node(JsonWriter& json, const NodeAccount& account, bool rounded) {
  json.key("rounded").boolean(rounded);
  json.key("watched_s").number(to_seconds(account.now - account.begin));
  json.key("tick_s").number(to_seconds(account.tick));
  json.key("method").text_or_null(account.method);
  json.key("violations").whole(account.violations);
  json.key("quality").text(name_of(worst_quality(account)));
  json.key("joules").energy(node_energy(account));
  write_power(json, account);
  write_common(json, "idle", account, ConsumerKind::idle);
  write_common(json, "unattributed", account, ConsumerKind::unattributed);
  json.key("components").begin_array();
  for (const ComponentAccount& part : account.components) write_component(json, part, false);
  for (const ComponentAccount& part : account.overlaps) write_component(json, part, true);
  json.end_array();
  json.key("missing").begin_array();
  for (const auto& [what, time] : account.missing) {
    json.begin_object();
    json.key("meter").text(what.first);
    json.key("reason").text(what.second);
    json.key("seconds").raw(MetricValue::of(time).text());
    json.end_object();
  }
  json.end_array();
  json.key("agent").begin_object();
  json.key("cpu_s").raw(MetricValue::of(account.own_cpu).text());
  json.key("resident_bytes").whole(account.own_memory);
  json.end_object();
}

std::string node_json(const NodeAccount& account, bool rounded) {
  JsonWriter json(0);
  json.begin_object().key("schema").text("joulery.node/1");
  write_node(json, account, rounded);
  return json.end_object().str() + "\n";
}

}  // namespace joulery
