#include "publish/consumers.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <numeric>

#include "publish/account_json.h"
#include "publish/metric.h"

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
  json.key("share").number(row.share).key("cpu_s").raw(MetricValue::of(of.cpu).text());
  json.key("components").begin_object();
  for (std::size_t c = 0; c < account.components.size() && c < of.energy.size(); ++c)
    json.key(account.components[c].component).energy(of.energy[c]);
  json.end_object().key("labels").begin_object();
  for (const auto& [name, value] : of.labels) json.key(name).text(value);
  json.end_object();
  json.key("reason").text_or_null(!of.power ? "known after the next tick" : !row.share ? "no energy has been counted yet" : "");
  json.end_object();
}

struct Others {
  std::int64_t count = 0;
  Energy joules;
  std::optional<Power> power;
};

void write_others(JsonWriter& json, const Others& others) {
  json.key("others");
  if (others.count == 0) {
    json.null();
    return;
  }
  json.begin_object().key("count").whole(others.count).key("joules").energy(others.joules);
  json.key("watts").number(others.power ? std::optional(to_watts(*others.power)) : std::nullopt);
  json.key("reason").text_or_null(others.power ? "" : "known after the next tick").end_object();
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

void write_consumers(JsonWriter& json, const NodeAccount& account, const ConsumerChoice& choice) {
  ConsumerChoice all = choice;
  all.most.reset();
  const std::vector<ConsumerRow> rows = consumer_rows(account, all);
  const std::size_t most = choice.most.value_or(rows.size());
  std::size_t of_kind = 0;
  Others others;
  json.key("kind").text(name_of(choice.kind)).key("consumers").begin_array();
  for (const ConsumerRow& row : rows) {
    if (row.account->kind == choice.kind && ++of_kind > most) {
      ++others.count;
      others.joules += row.joules;
      if (row.account->power) others.power = others.power.value_or(Power()) + *row.account->power;
      continue;
    }
    write_row(json, account, row);
  }
  json.end_array();
  write_others(json, others);
}

std::string consumers_json(const NodeAccount& account, const ConsumerChoice& choice, bool rounded, int indent) {
  JsonWriter json(indent);
  json.begin_object().key("schema").text("joulery.consumers/1");
  write_node(json, account, rounded);
  write_consumers(json, account, choice);
  return json.end_object().str() + "\n";
}

}  // namespace joulery
