#include "publish/account_json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <span>

#include "core/near_names.h"
#include "publish/metric.h"

namespace joulery {
namespace {

constexpr std::string_view not_yet = "known after the next tick";
constexpr std::string_view orders[] = {"joules", "watts", "cpu", "name"};

Energy sum_of(const std::map<Quality, Energy>& known) {
  Energy sum;
  for (const auto& [quality, energy] : known) sum += energy;
  return sum;
}

Energy sum_of(const std::vector<Energy>& energies) { return std::accumulate(energies.begin(), energies.end(), Energy()); }

std::optional<double> number_of(const std::optional<Power>& power) { return power ? std::optional(to_watts(*power)) : std::nullopt; }

void write_component(JsonWriter& json, const ComponentAccount& part, bool overlap) {
  json.begin_object();
  json.key("component").text(part.component);
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

// Joules and watts over all components of one of the kinds that every other kind shares. There is no idle account before any
// static power was learnt.
void write_common(JsonWriter& json, std::string_view key, const NodeAccount& account, ConsumerKind kind, std::string_view absent) {
  std::optional<Energy> joules;
  std::optional<Power> power;
  for (const ConsumerAccount& consumer : account.consumers) {
    if (consumer.kind != kind) continue;
    joules = joules.value_or(Energy{}) + sum_of(consumer.energy);
    if (consumer.power) power = power.value_or(Power()) + *consumer.power;
  }
  json.key(key).begin_object();
  json.key("joules").energy(joules);
  json.key("watts").number(number_of(power));
  json.key("reason").text_or_null(power ? std::string_view() : joules ? not_yet : absent);
  json.end_object();
}

// The power of the node: the sum of what is known, and whose is not.
void write_power(JsonWriter& json, const NodeAccount& account) {
  Power sum;
  bool known = false;
  std::vector<std::string> unknown;
  for (const ComponentAccount& part : account.components) {
    if (part.power) {
      sum += *part.power;
      known = true;
    } else {
      unknown.push_back(part.component);
    }
  }
  json.key("watts").number(known ? std::optional(to_watts(sum)) : std::nullopt);
  json.key("partial").boolean(!unknown.empty());
  json.key("reason").text_or_null(unknown.empty() ? "" : fmt::format("not known: {}", fmt::join(unknown, ", ")));
}

Quality worst_quality(const NodeAccount& account) {
  Quality quality = account.components.empty() ? Quality::missing : Quality::measured;
  for (const ComponentAccount& part : account.components) quality = worst(quality, part.quality);
  return quality;
}

void write_row(JsonWriter& json, const ConsumerAccount& consumer, const NodeAccount& account, Energy whole) {
  const Energy joules = sum_of(consumer.energy);
  const bool no_share = whole <= Energy();
  json.begin_object();
  json.key("kind").text(name_of(consumer.kind));
  json.key("name").text(consumer.name);
  json.key("joules").energy(joules);
  json.key("watts").number(number_of(consumer.power));
  json.key("share").number(no_share ? std::nullopt : std::optional(joules / whole));
  json.key("cpu_seconds").raw(MetricValue::of(consumer.cpu).text());
  json.key("components").begin_object();
  for (std::size_t i = 0; i < std::min(account.components.size(), consumer.energy.size()); ++i)
    json.key(account.components[i].component).energy(consumer.energy[i]);
  json.end_object();
  json.key("labels").begin_object();
  for (const auto& [name, value] : consumer.labels) json.key(name).text(value);
  json.end_object();
  json.key("reason").text_or_null(!consumer.power ? not_yet : no_share ? "no energy has been counted yet" : std::string_view());
  json.end_object();
}

void write_others(JsonWriter& json, ConsumerKind kind, std::span<const ConsumerAccount* const> others) {
  Energy joules;
  std::optional<Power> power;
  for (const ConsumerAccount* one : others) {
    joules += sum_of(one->energy);
    if (one->power) power = power.value_or(Power()) + *one->power;
  }
  json.begin_object();
  json.key("kind").text(name_of(kind));
  json.key("count").whole(static_cast<std::int64_t>(others.size()));
  json.key("joules").energy(joules);
  json.key("watts").number(number_of(power));
  json.key("reason").text_or_null(power ? std::string_view() : not_yet);
  json.end_object();
}

void sort(std::vector<const ConsumerAccount*>& rows, ConsumerOrder order) {
  const auto watts_of = [](const ConsumerAccount* row) { return row->power ? to_watts(*row->power) : -1; };
  std::ranges::stable_sort(rows, [&](const ConsumerAccount* a, const ConsumerAccount* b) {
    switch (order) {
      case ConsumerOrder::joules: return sum_of(a->energy) > sum_of(b->energy);
      case ConsumerOrder::watts: return watts_of(a) > watts_of(b);
      case ConsumerOrder::cpu: return a->cpu > b->cpu;
      case ConsumerOrder::name: return a->name < b->name;
    }
    return false;
  });
}

}  // namespace

Result<std::vector<ConsumerKind>> parse_kinds(std::string_view text) {
  std::vector<std::string> names;
  for (auto kind = ConsumerKind::process; kind <= ConsumerKind::unattributed; kind = static_cast<ConsumerKind>(static_cast<int>(kind) + 1))
    names.emplace_back(name_of(kind));
  std::vector<ConsumerKind> kinds;
  while (!text.empty()) {
    const auto comma = text.find(',');
    const std::string one(text.substr(0, comma));
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    const auto found = std::ranges::find(names, one);
    if (found == names.end()) {
      const std::string nearest = nearest_name(one, names);
      return fail(ErrorCode::usage, "no kind of consumer is called '" + one + "'", "kind",
                  nearest.empty() ? fmt::format("there are {}", fmt::join(names, ", ")) : "did you mean '" + nearest + "'?");
    }
    kinds.push_back(static_cast<ConsumerKind>(found - names.begin()));
  }
  return kinds;
}

Result<ConsumerOrder> parse_order(std::string_view text) {
  const auto* found = std::ranges::find(orders, text);
  if (found == std::end(orders))
    return fail(ErrorCode::usage, fmt::format("cannot sort by '{}'", text), "sort",
                fmt::format("sort by one of {}", fmt::join(orders, ", ")));
  return static_cast<ConsumerOrder>(found - std::begin(orders));
}

Energy node_energy(const NodeAccount& account) {
  Energy sum;
  for (const ComponentAccount& part : account.components) sum += sum_of(part.energy);
  return sum;
}

void write_node(JsonWriter& json, const NodeAccount& account, bool rounded) {
  json.key("rounded").boolean(rounded);
  json.key("seconds").number(to_seconds(account.now - account.begin));
  json.key("tick_seconds").number(to_seconds(account.tick));
  json.key("method").text_or_null(account.method);
  json.key("violations").whole(account.violations);
  json.key("quality").text(name_of(worst_quality(account)));
  json.key("joules").energy(node_energy(account));
  write_power(json, account);
  write_common(json, "idle", account, ConsumerKind::idle, "static power is not learnt yet: there was no quiet moment");
  write_common(json, "unattributed", account, ConsumerKind::unattributed, not_yet);
  json.key("components").begin_array();
  for (const ComponentAccount& part : account.components) write_component(json, part, false);
  for (const ComponentAccount& part : account.overlaps) write_component(json, part, true);
  json.end_array();
  json.key("missing").begin_array();
  for (const auto& [what, time] : account.missing) {
    json.begin_object();
    json.key("meter").text(what.first);
    json.key("reason").text(what.second);
    json.key("seconds").number(to_seconds(time));
    json.end_object();
  }
  json.end_array();
  json.key("agent").begin_object();
  json.key("cpu_seconds").raw(MetricValue::of(account.own_cpu).text());
  json.key("resident_bytes").whole(account.own_memory);
  json.end_object();
}

void write_consumers(JsonWriter& json, const NodeAccount& account, const ConsumerChoice& choice) {
  std::map<ConsumerKind, std::vector<const ConsumerAccount*>> kinds;
  for (const ConsumerAccount& consumer : account.consumers)
    if (choice.kinds.empty() || std::ranges::find(choice.kinds, consumer.kind) != choice.kinds.end())
      kinds[consumer.kind].push_back(&consumer);
  const Energy whole = node_energy(account);
  json.key("rows").begin_array();
  for (auto& [kind, rows] : kinds) {
    sort(rows, choice.order);
    const std::size_t shown = choice.top == 0 ? rows.size() : std::min(choice.top, rows.size());
    for (std::size_t i = 0; i < shown; ++i) write_row(json, *rows[i], account, whole);
    rows.erase(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(shown));
  }
  json.end_array();
  json.key("others").begin_array();
  for (const auto& [kind, rows] : kinds)
    if (!rows.empty()) write_others(json, kind, rows);
  json.end_array();
}

std::string node_json(const NodeAccount& account, bool rounded) {
  JsonWriter json(0);
  json.begin_object().key("schema").text("joulery.node/1");
  write_node(json, account, rounded);
  return json.end_object().str() + "\n";
}

std::string consumers_json(const NodeAccount& account, const ConsumerChoice& choice, bool rounded) {
  JsonWriter json(0);
  json.begin_object().key("schema").text("joulery.consumers/1");
  json.key("rounded").boolean(rounded);
  json.key("seconds").number(to_seconds(account.now - account.begin));
  json.key("tick_seconds").number(to_seconds(account.tick));
  json.key("joules").energy(node_energy(account));
  write_consumers(json, account, choice);
  return json.end_object().str() + "\n";
}

}  // namespace joulery
