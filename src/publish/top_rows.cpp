#include "publish/top_rows.h"

#include <algorithm>
#include <cctype>
#include <numeric>

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

bool before(const TopRow& a, const TopRow& b, ConsumerOrder order) {
  const auto watts_of = [](const TopRow& row) { return row.account->power ? to_watts(*row.account->power) : -1.0; };
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

TopRow row_of(const ConsumerAccount& consumer, Energy node) {
  TopRow row{&consumer, std::accumulate(consumer.energy.begin(), consumer.energy.end(), Energy{}), std::nullopt};
  if (node > Energy{}) row.share = row.joules / node;
  return row;
}

}  // namespace

std::optional<Power> node_power(const NodeAccount& account) {
  std::optional<Power> sum;
  for (const ComponentAccount& component : account.components)
    if (component.power) sum = sum.value_or(Power{}) + *component.power;
  return sum;
}

std::vector<TopRow> top_rows(const NodeAccount& account, const TopChoice& choice) {
  const Energy node = node_energy(account);
  const std::string low = lowered(choice.filter);
  std::vector<TopRow> rows;
  for (const ConsumerAccount& consumer : account.consumers)
    if (consumer.kind == choice.kind && matches(consumer, low)) rows.push_back(row_of(consumer, node));
  std::ranges::stable_sort(rows, [&](const TopRow& a, const TopRow& b) { return before(a, b, choice.order); });
  if (choice.most && rows.size() > *choice.most) rows.resize(*choice.most);
  for (const ConsumerKind kind : {ConsumerKind::idle, ConsumerKind::unattributed})
    for (const ConsumerAccount& consumer : account.consumers)
      if (consumer.kind == kind) rows.push_back(row_of(consumer, node));
  return rows;
}

}  // namespace joulery
