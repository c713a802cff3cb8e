#include "publish/rounded_account.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

namespace joulery {
namespace {

constexpr const char *ended = "(ended)", *busy_name = "(busy)";

// A consumer is told at most this many steps more than it used; beyond, it is another one of the same name.
constexpr std::int64_t a_few = 10;

// What is shared among all kinds alike, the rest of a component being what its consumers used.
bool is_common(ConsumerKind kind) { return kind == ConsumerKind::idle || kind == ConsumerKind::unattributed; }

Energy sum_of(const ComponentAccount& component) {
  Energy sum;
  for (const auto& [quality, energy] : component.energy) sum += energy;
  return sum;
}

struct Part {
  std::int64_t exact = 0, told = 0;
  std::int64_t lag() const { return exact - told; }
};

// Gives `units` steps to the parts, each only more than before: whole steps that are due, then the others to who lags most.
void allot(std::int64_t units, std::int64_t step, std::vector<Part>& parts) {
  std::vector<Part*> order;
  order.reserve(parts.size());
  for (Part& part : parts) order.push_back(&part);
  std::ranges::sort(order, [](const Part* a, const Part* b) { return a->lag() > b->lag(); });
  for (Part* part : order) {
    const std::int64_t due = std::min(units, std::max<std::int64_t>(0, part->lag() / step));
    part->told += due * step;
    units -= due;
  }
  if (units <= 0 || parts.empty()) return;
  std::ranges::sort(order, [](const Part* a, const Part* b) { return a->lag() > b->lag(); });
  const auto count = static_cast<std::int64_t>(order.size());
  for (std::int64_t i = 0; i < count; ++i) order[static_cast<std::size_t>(i)]->told += (units / count + (i < units % count ? 1 : 0)) * step;
}

}  // namespace

Energy RoundedAccount::floor(Energy energy) const {
  std::int64_t units = energy.base_units() / step_;
  if (energy.base_units() % step_ < 0) --units;
  return microjoules(units * step_);
}

void RoundedAccount::round(std::optional<Power>& power) const {
  if (!power) return;
  const double steps_a_watt = std::nearbyint(1 / to_watts(power_step_));
  power = watts(std::nearbyint(to_watts(*power) * steps_a_watt) / steps_a_watt);
}

void RoundedAccount::round(ComponentAccount& component) const {
  for (auto& known : component.energy) known.second = floor(known.second);
  round(component.power);
  round(component.idle);
}

// Keeps the memory beside the components; forgets it where the account began anew.
void RoundedAccount::follow(const NodeAccount& exact) {
  std::vector<std::string> components;
  std::vector<Energy> sums;
  std::vector<std::size_t> places;  // of each component before
  for (const ComponentAccount& component : exact.components) {
    places.push_back(static_cast<std::size_t>(std::ranges::find(components_, component.component) - components_.begin()));
    components.push_back(component.component);
    sums.push_back(sum_of(component));
    if (places.back() < sums_.size() && sums.back() < sums_[places.back()]) told_.clear();
  }
  if (components != components_) {
    for (auto& row : told_) {
      Told moved(components.size());
      for (std::size_t i = 0; i < moved.size(); ++i) moved[i] = places[i] < row.second.size() ? row.second[places[i]] : 0;
      row.second = std::move(moved);
    }
  }
  components_ = std::move(components);
  sums_ = std::move(sums);
}

// What was told of those that are gone goes to "(ended)", as their energy does; so does that of a name that began anew.
void RoundedAccount::forget_the_gone(NodeAccount& account) {
  std::map<std::pair<ConsumerKind, std::string_view>, const ConsumerAccount*> here;
  for (const ConsumerAccount& consumer : account.consumers) here[{consumer.kind, consumer.name}] = &consumer;
  std::map<ConsumerKind, Told> gone;
  std::erase_if(told_, [&](const auto& row) {
    const auto& [kind, name] = row.first;
    if (name == ended || name == busy_name) return false;
    const auto found = here.find({kind, name});
    bool stays = found != here.end();
    for (std::size_t i = 0; stays && i < row.second.size(); ++i)
      stays = found->second->energy[i].base_units() + a_few * step_ >= row.second[i];
    if (stays) return false;
    Told& sums = gone[kind];
    sums.resize(components_.size());
    for (std::size_t i = 0; i < row.second.size(); ++i) sums[i] += row.second[i];
    return true;
  });
  for (const auto& [kind, sums] : gone) {
    Told& row = told_[{kind, ended}];
    row.resize(components_.size());
    for (std::size_t i = 0; i < sums.size(); ++i) row[i] += sums[i];
    if (!here.contains({kind, ended}))
      account.consumers.push_back({kind, ended, std::vector<Energy>(components_.size()), std::nullopt, Duration(), {}});
  }
}

// Shares the sums of the components out, from what was told of each consumer before and what each has used.
void RoundedAccount::share(std::span<ConsumerAccount* const> consumers, const std::vector<Energy>& sums) {
  std::vector<Told*> rows;
  for (const ConsumerAccount* consumer : consumers) {
    rows.push_back(&told_[{consumer->kind, consumer->name}]);
    rows.back()->resize(components_.size());
  }
  for (std::size_t i = 0; i < components_.size(); ++i) {
    std::vector<Part> parts;
    std::int64_t left = sums[i].base_units();
    for (std::size_t c = 0; c < consumers.size(); ++c) {
      parts.push_back({consumers[c]->energy[i].base_units(), (*rows[c])[i]});
      left -= parts.back().told;
    }
    allot(left / step_, step_, parts);
    for (std::size_t c = 0; c < consumers.size(); ++c) consumers[c]->energy[i] = microjoules((*rows[c])[i] = parts[c].told);
  }
}

void RoundedAccount::round_consumers(NodeAccount& account) {
  ConsumerAccount busy{ConsumerKind::idle, busy_name, sums_, std::nullopt, Duration(), {}};
  std::vector<ConsumerAccount*> common{&busy};
  std::map<ConsumerKind, std::vector<ConsumerAccount*>> kinds;
  for (ConsumerAccount& consumer : account.consumers) {
    round(consumer.power);
    if (consumer.kind == ConsumerKind::tag)
      for (Energy& energy : consumer.energy) energy = floor(energy);
    else if (!is_common(consumer.kind))
      kinds[consumer.kind].push_back(&consumer);
    else
      common.push_back(&consumer);
  }
  for (std::size_t i = 0; i < sums_.size(); ++i)
    for (const ConsumerAccount* consumer : std::span(common).subspan(1)) busy.energy[i] -= consumer->energy[i];
  std::vector<Energy> sums;
  sums.reserve(account.components.size());
  for (const ComponentAccount& component : account.components) sums.push_back(sum_of(component));
  share(common, sums);
  for (const auto& [kind, consumers] : kinds) share(consumers, busy.energy);
}

NodeAccount RoundedAccount::of(const NodeAccount& exact) {
  follow(exact);
  NodeAccount account = exact;
  for (ConsumerAccount& consumer : account.consumers) consumer.energy.resize(components_.size());
  forget_the_gone(account);
  for (ComponentAccount& component : account.components) round(component);
  for (ComponentAccount& component : account.overlaps) round(component);
  round_consumers(account);
  return account;
}

}  // namespace joulery
