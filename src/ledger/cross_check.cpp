#include "ledger/cross_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/units.h"

namespace joulery {
namespace {

bool same_thing(const EnergySource& a, const EnergySource& b) {
  return a.meter == b.meter && a.device == b.device && a.channel.component == b.channel.component && a.channel.scope == b.channel.scope;
}

struct Pair {
  Energy counted, integrated;
};

// What both say of the start of the run, where both cover it.
std::optional<Pair> at_start(const EnergySource& counter, const EnergySource& gauge, Interval run) {
  Interval when = intersect(intersect(counter.track.covered(), gauge.track.covered()), run);
  when.end = std::min(when.end, when.begin + start_up);
  if (when.length() < milliseconds(1000)) return std::nullopt;  // too short for a counter that is refreshed ten times a second
  const Span a = counter.track.energy(when), b = gauge.track.energy(when);
  if (!a.energy || !b.energy || a.partial || b.partial) return std::nullopt;
  return Pair{a.energy->value, b.energy->value};
}

bool believable(const Pair& pair) {
  const double counted = to_joules(pair.counted), integrated = to_joules(pair.integrated);
  return counted * believable_factor >= integrated && counted <= integrated * believable_factor;
}

}  // namespace

std::vector<std::string> cross_check_counters(Timeline& timeline) {
  std::vector<std::string> flags;
  auto& sources = timeline.sources;
  for (std::size_t c = 0; c < sources.size(); ++c) {
    if (sources[c].channel.behaviour != Behaviour::counter) continue;
    for (std::size_t g = c + 1; g < sources.size(); ++g) {
      if (sources[g].channel.behaviour != Behaviour::gauge || !same_thing(sources[c], sources[g])) continue;
      const auto pair = at_start(sources[c], sources[g], timeline.run);
      if (!pair || believable(*pair)) break;
      flags.push_back(fmt::format("counter-not-believed: {}: {} {} says {} where its power says {}", sources[c].channel.component.path(),
                                  sources[c].meter, sources[c].channel.name, to_text(pair->counted), to_text(pair->integrated)));
      std::rotate(sources.begin() + static_cast<std::ptrdiff_t>(c), sources.begin() + static_cast<std::ptrdiff_t>(c) + 1,
                  sources.begin() + static_cast<std::ptrdiff_t>(g) + 1);
      --c;  // another has come to its place
      break;
    }
  }
  return flags;
}

}  // namespace joulery
