#include "app/agent/stored_account.h"

#include <algorithm>
#include <utility>

namespace joulery {
namespace {

SeriesKey key_of(const ConsumerAccount& consumer, const std::string& component) {
  SeriesKey key{
      "consumer_joules", {{"kind", std::string(name_of(consumer.kind))}, {"component", component}}, stored_joule_unit, SeriesKind::sum};
  if (!consumer.name.empty()) key.labels["name"] = consumer.name;
  for (const auto& [name, value] : consumer.labels) key.labels.try_emplace(name, value);
  return key;
}

}  // namespace

void StoredAccount::add_components(const std::vector<ComponentAccount>& components, const char* name) {
  for (const ComponentAccount& component : components) {
    if (!component.power) continue;  // not known in this tick
    for (const auto& [quality, energy] : component.energy) {
      Kept& kept = components_[{name, component.component, quality}];
      if (!kept.series)
        kept.series = store_.series(
            {name, {{"component", component.component}, {"quality", std::string(name_of(quality))}}, stored_joule_unit, SeriesKind::sum});
      if (quality == component.quality || energy > kept.total) samples_.push_back({*kept.series, kept.counts.up_to(energy)});
      kept.total = energy;
    }
  }
}

void StoredAccount::add_consumer(ByComponent& all, const ConsumerAccount& consumer, std::span<const Energy> energy,
                                 const std::vector<ComponentAccount>& components) {
  if (all.size() < energy.size()) all.resize(energy.size());
  for (std::size_t c = 0; c < energy.size(); ++c) {
    if (energy[c] == Energy{}) continue;
    Kept& kept = all[c];
    kept.total += energy[c];
    const std::int64_t counts = kept.counts.up_to(kept.total);
    if (counts == 0) continue;
    if (!kept.series) kept.series = store_.series(key_of(consumer, components[c].component));
    samples_.push_back({*kept.series, counts});
  }
}

void StoredAccount::take_rest(ConsumerNumber number, ConsumerKind kind) {
  const auto found = consumers_.find(number);
  if (found == consumers_.end()) return;
  std::vector<Energy>& rests = rests_[kind];
  rests.resize(std::max(rests.size(), found->second.size()));
  for (std::size_t c = 0; c < found->second.size(); ++c) {
    const Kept& kept = found->second[c];
    rests[c] += kept.counts.rest_of(kept.total);
    if (kept.series) store_.forget(*kept.series);
  }
  consumers_.erase(found);
}

void StoredAccount::add(const NodeAccounts& accounts, WallTime at, Duration tick) {
  samples_.clear();
  add_components(accounts.components(), "component_joules");
  add_components(accounts.overlaps(), "component_overlap_joules");
  for (const Booking& booking : accounts.bookings())
    add_consumer(consumers_[booking.number], *booking.consumer, booking.energy, accounts.components());
  if (std::ranges::all_of(accounts.components(), [](const ComponentAccount& component) { return component.power.has_value(); }))
    for (const auto& [kind, rests] : std::exchange(rests_, {}))
      add_consumer(ended_[kind], {kind, "(ended)", {}, std::nullopt, {}, {}}, rests, accounts.components());
  store_.add(at, tick, samples_);
  for (const auto& [number, kind] : accounts.folded()) take_rest(number, kind);
}

}  // namespace joulery
