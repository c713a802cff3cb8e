#include "app/agent/stored_account.h"

namespace joulery {
namespace {

// A consumer that was booked nothing for so many ticks gives its series back; it gets another when it is booked again.
constexpr std::uint64_t quiet_ticks = 600;

}  // namespace

StoredAccount::Kept& StoredAccount::kept_of(const Booking& booking, const std::string& component) {
  const auto [at, is_new] = consumers_.try_emplace({booking.kind, booking.name, component});
  if (is_new) {
    SeriesKey key{
        "consumer_joules", {{"kind", std::string(name_of(booking.kind))}, {"component", component}}, stored_joule_unit, SeriesKind::sum};
    if (!booking.name.empty()) key.labels["name"] = booking.name;
    if (booking.labels)
      for (const auto& [name, value] : *booking.labels) key.labels.try_emplace(name, value);
    at->second.series = store_.series(key);
  }
  at->second.tick = tick_;
  return at->second;
}

void StoredAccount::add_components(const std::vector<ComponentAccount>& components, const char* name, std::vector<StoreSample>& samples) {
  for (const ComponentAccount& component : components) {
    if (!component.power) continue;  // not known in this tick
    for (const auto& [quality, energy] : component.energy) {
      const auto [at, is_new] = components_.try_emplace({name, component.component, quality});
      Kept& kept = at->second;
      if (is_new)
        kept.series = store_.series(
            {name, {{"component", component.component}, {"quality", std::string(name_of(quality))}}, stored_joule_unit, SeriesKind::sum});
      if (quality == component.quality || energy > kept.total) samples.push_back({kept.series, kept.counts.up_to(energy)});
      kept.total = energy;
    }
  }
}

void StoredAccount::add(const NodeAccounts& accounts, WallTime at, Duration tick) {
  ++tick_;
  std::vector<StoreSample> samples;
  add_components(accounts.components(), "component_joules", samples);
  add_components(accounts.overlaps(), "component_overlap_joules", samples);
  for (const Booking& booking : accounts.bookings()) {
    for (std::size_t c = 0; c < booking.energy.size(); ++c) {
      if (booking.energy[c] == Energy{}) continue;
      Kept& kept = kept_of(booking, accounts.components()[c].component);
      kept.total += booking.energy[c];
      if (const std::int64_t counts = kept.counts.up_to(kept.total); counts != 0) samples.push_back({kept.series, counts});
    }
  }
  store_.add(at, tick, samples);
  if (tick_ % 60 == 0) forget_the_quiet();
}

void StoredAccount::forget_the_quiet() {
  std::erase_if(consumers_, [&](const auto& entry) {
    if (tick_ - entry.second.tick < quiet_ticks) return false;
    store_.forget(entry.second.series);
    return true;
  });
}

}  // namespace joulery
