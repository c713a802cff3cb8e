#include "publish/consumers.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <numeric>

#include "publish/json_writer.h"

namespace joulery {
namespace {

std::string lowered(std::string_view text) {
  std::string low(text);
  std::ranges::transform(low, low.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return low;
}

bool matches(const ConsumerAccount& consumer, const std::string& low) {
  if (low.empty() || lowered(consumer.name).find(low) != std::string::npos) return true;
  return std::ranges::any_of(consumer.labels, [&](const auto& label) { return lowered(label.second).find(low) != std::string::npos; });
}

bool before(const ConsumerRow& a, const ConsumerRow& b, ConsumerOrder order) {
  const auto watts_of = [](const ConsumerRow& row) { return row.account->power ? to_watts(*row.account->power) : -1.0; };
  switch (order) {
    case ConsumerOrder::watts:
      if (watts_of(a) != watts_of(b)) return watts_of(a) > watts_of(b);
      return a.joules > b.joules;
    case ConsumerOrder::joules: return a.joules > b.joules;
    case ConsumerOrder::cpu: return a.account->cpu > b.account->cpu;
    case ConsumerOrder::name: return a.account->name < b.account->name;
  }
  return false;
}

ConsumerRow row_of(const ConsumerAccount& consumer, const std::optional<Energy>& node) {
  ConsumerRow row{&consumer, std::accumulate(consumer.energy.begin(), consumer.energy.end(), Energy{}), std::nullopt};
  if (node && *node > Energy{}) row.share = row.joules / *node;
  return row;
}

void write_row(JsonWriter& json, const NodeAccount& account, const ConsumerRow& row) {
  const ConsumerAccount& of = *row.account;
  json.begin_object().key("kind").text(name_of(of.kind)).key("name").text(of.name);
  json.key("joules").energy(row.joules).key("watts").number(of.power ? std::optional(to_watts(*of.power)) : std::nullopt);
  json.key("share").number(row.share).key("cpu_s").number(to_seconds(of.cpu));
  json.key("components").begin_object();
  for (std::size_t c = 0; c < account.components.size() && c < of.energy.size(); ++c)
    json.key(account.components[c].component).energy(of.energy[c]);
  json.end_object().key("labels").begin_object();
  for (const auto& [name, value] : of.labels) json.key(name).text(value);
  json.end_object().end_object();
}

}  // namespace

std::optional<ConsumerOrder> parse_consumer_order(std::string_view text) {
  constexpr std::array<std::string_view, 4> names{"watts", "joules", "cpu", "name"};
  const auto found = std::ranges::find(names, text);
  if (found == names.end()) return std::nullopt;
  return static_cast<ConsumerOrder>(found - names.begin());
}

std::optional<ConsumerKind> parse_consumer_kind(std::string_view text) {
  for (auto kind = ConsumerKind::process; kind < ConsumerKind::idle; kind = static_cast<ConsumerKind>(static_cast<int>(kind) + 1))
    if (name_of(kind) == text) return kind;
  return std::nullopt;
}

std::optional<Energy> node_energy(const NodeAccount& account) {
  std::optional<Energy> sum;
  for (const ComponentAccount& component : account.components)
    for (const auto& [quality, energy] : component.energy) sum = sum.value_or(Energy{}) + energy;
  return sum;
}

std::optional<Power> node_power(const NodeAccount& account) {
  std::optional<Power> sum;
  for (const ComponentAccount& component : account.components)
    if (component.power) sum = sum.value_or(Power{}) + *component.power;
  return sum;
}

std::vector<ConsumerRow> consumer_rows(const NodeAccount& account, const ConsumerChoice& choice) {
  const std::optional<Energy> node = node_energy(account);
  const std::string low = lowered(choice.filter);
  std::vector<ConsumerRow> rows;
  for (const ConsumerAccount& consumer : account.consumers)
    if (consumer.kind == choice.kind && matches(consumer, low)) rows.push_back(row_of(consumer, node));
  std::ranges::stable_sort(rows, [&](const ConsumerRow& a, const ConsumerRow& b) { return before(a, b, choice.order); });
  if (choice.most && rows.size() > *choice.most) rows.resize(*choice.most);
  for (const ConsumerKind kind : {ConsumerKind::idle, ConsumerKind::unattributed})
    for (const ConsumerAccount& consumer : account.consumers)
      if (consumer.kind == kind) rows.push_back(row_of(consumer, node));
  return rows;
}

std::string consumers_json(const NodeAccount& account, const ConsumerChoice& choice) {
  JsonWriter json;
  json.begin_object().key("schema").text("joulery.consumers/1");
  json.key("watched_s").number(to_seconds(account.now - account.begin)).key("tick_s").number(to_seconds(account.tick));
  json.key("method").text_or_null(account.method).key("kind").text(name_of(choice.kind));
  json.key("node").begin_object().key("joules").energy(node_energy(account));
  const auto power = node_power(account);
  json.key("watts").number(power ? std::optional(to_watts(*power)) : std::nullopt).end_object();
  json.key("components").begin_array();
  for (const ComponentAccount& component : account.components) {
    const auto watts = [](const std::optional<Power>& p) { return p ? std::optional(to_watts(*p)) : std::nullopt; };
    json.begin_object().key("path").text(component.component).key("meter").text_or_null(component.meter);
    json.key("quality").text(name_of(component.quality)).key("watts").number(watts(component.power));
    json.key("idle_watts").number(watts(component.idle)).key("reason").text_or_null(component.reason).end_object();
  }
  json.end_array().key("consumers").begin_array();
  for (const ConsumerRow& row : consumer_rows(account, choice)) write_row(json, account, row);
  json.end_array().key("conservation_violations").whole(account.violations).end_object();
  return json.str() + "\n";
}

}  // namespace joulery
