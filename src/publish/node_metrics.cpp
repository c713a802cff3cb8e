#include "publish/node_metrics.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>

#include "publish/utf8.h"

namespace joulery {
namespace {

// The place of each family in the list.
enum Family : std::size_t {
  component_joules,
  overlap_joules,
  component_watts,
  overlap_watts,
  consumer_joules,
  consumer_watts,
  violations,
  missing_seconds,
  agent_cpu,
  agent_memory,
  build_info,
  attribution_info
};

struct FamilyRow {
  std::string_view name;
  MetricType type;
  std::string_view unit, help;
};

constexpr auto counter = MetricType::counter;
constexpr auto gauge = MetricType::gauge;

constexpr std::array<FamilyRow, attribution_info + 1> rows{{
    {"joulery_component_joules_total", counter, "joules",
     "Energy of each part of the node that is counted once, by how it is known; their sum is the node."},
    {"joulery_component_overlap_joules_total", counter, "joules",
     "Energy of what contains counted parts or lies inside them; never to be added to the node."},
    {"joulery_component_watts", gauge, "watts", "Mean power of each counted part over the agent's last tick."},
    {"joulery_component_overlap_watts", gauge, "watts",
     "Mean power over the last tick of what contains counted parts or lies inside them."},
    {"joulery_consumer_joules_total", counter, "joules",
     "Energy by consumer: each kind by itself sums to the node together with idle and unattributed. (other) takes over what lines that "
     "have gone had used: leave it out of rates."},
    {"joulery_consumer_watts", gauge, "watts", "Mean power of each consumer over the agent's last tick."},
    {"joulery_conservation_violations_total", counter, "", "Ticks whose parts did not sum to the whole: 0, or a fault of the agent."},
    {"joulery_missing_seconds_total", counter, "seconds", "For how long readings of a meter were missing, by reason."},
    {"joulery_agent_cpu_seconds_total", counter, "seconds", "CPU time that the agent itself has used."},
    {"joulery_agent_resident_bytes", gauge, "bytes", "Memory that the agent itself holds."},
    {"joulery_build_info", gauge, "", "1; the version is a label."},
    {"joulery_attribution_info", gauge, "", "1; how CPU time by process is known is a label: ebpf or proc."},
}};

MetricFamily empty_family(const FamilyRow& row) {
  return {std::string(row.name), row.type, std::string(row.unit), std::string(row.help), {}};
}

void add_component(const ComponentAccount& account, MetricFamily& joules, MetricFamily& watts) {
  const std::string name = valid_utf8(account.component);
  for (const auto& [quality, energy] : account.energy)
    joules.samples.push_back({{{"component", name}, {"quality", std::string(name_of(quality))}}, MetricValue::of(energy)});
  if (account.power) watts.samples.push_back({{{"component", name}}, MetricValue::of(*account.power)});
}

void add_consumer(MetricFamily& joules, std::string_view kind, std::string_view name, std::string_view component, Energy energy) {
  joules.samples.push_back(
      {{{"component", std::string(component)}, {"kind", std::string(kind)}, {"name", std::string(name)}}, MetricValue::of(energy)});
}

void add_power(MetricFamily& watts, std::string_view kind, std::string_view name, Power power) {
  watts.samples.push_back({{{"kind", std::string(kind)}, {"name", std::string(name)}}, MetricValue::of(power)});
}

void add(std::vector<Energy>& sums, std::span<const Energy> more) {
  for (std::size_t i = 0; i < std::min(sums.size(), more.size()); ++i) sums[i] += more[i];
}

Energy at(std::span<const Energy> energies, std::size_t place) { return place < energies.size() ? energies[place] : Energy(); }

void add(std::optional<Power>& sum, const std::optional<Power>& more) {
  if (more) sum = sum.value_or(Power()) + *more;
}

bool shares_a_line(std::string_view name) { return name == "(ended)" || name == other_consumers; }

// One that has fallen is another process with the number and name of one that has ended.
bool has_fallen(std::span<const Energy> now, std::span<const Energy> before) {
  for (std::size_t i = 0; i < std::min(now.size(), before.size()); ++i)
    if (now[i] < before[i]) return true;
  return false;
}

double watts_of(const std::optional<Power>& power) { return power ? to_watts(*power) : 0; }

// A line changes hands only for a clear reason, and few at a time: every change makes new series in whatever stores them.
constexpr double takes_over_at = 2, at_least_watts = 0.05;
constexpr int most_changes = 10;

}  // namespace

std::vector<MetricFamily> NodeMetrics::all_families() {
  std::vector<MetricFamily> families;
  families.reserve(rows.size());
  for (const FamilyRow& row : rows) families.push_back(empty_family(row));
  return families;
}

void NodeMetrics::choose(Kind& kind, Uses& uses) const {
  struct Candidate {
    double watts;
    Use* use;
  };
  std::vector<Candidate> waiting, shown;
  Lines lines;  // of those that are still there
  const auto give = [&](Use& use, std::span<const Energy> from) {
    use.line = &lines.insert_or_assign(std::string(use.name), std::vector<Energy>(from.begin(), from.end())).first->second;
  };
  for (Use& use : uses) {
    if (shares_a_line(use.name)) continue;
    const auto line = kind.lines.find(use.name);
    if (line == kind.lines.end()) {
      waiting.push_back({watts_of(use.power), &use});
      continue;
    }
    if (has_fallen(use.energy, line->second)) line->second.clear();
    use.line = &lines.insert(kind.lines.extract(line)).position->second;
    shown.push_back({watts_of(use.power), &use});
  }
  const std::size_t free = options_.most_consumers - std::min(options_.most_consumers, shown.size());
  const auto asked = static_cast<std::ptrdiff_t>(std::min(waiting.size(), std::max<std::size_t>(free, most_changes)));
  std::ranges::partial_sort(waiting, waiting.begin() + asked,
                            [](const Candidate& a, const Candidate& b) { return a.watts != b.watts ? a.watts > b.watts : a.use < b.use; });
  std::ranges::stable_sort(shown, std::ranges::less{}, &Candidate::watts);
  std::size_t next = 0;
  for (; next < waiting.size() && next < free; ++next)
    give(*waiting[next].use, kind.crowded ? waiting[next].use->energy : std::span<const Energy>());
  for (std::size_t i = 0; next < waiting.size() && i < shown.size() && i < most_changes; ++i, ++next) {
    if (waiting[next].watts < takes_over_at * shown[i].watts + at_least_watts) break;
    lines.erase(lines.find(shown[i].use->name));
    shown[i].use->line = nullptr;
    give(*waiting[next].use, waiting[next].use->energy);
  }
  kind.lines = std::move(lines);
  kind.crowded = kind.lines.size() < waiting.size() + shown.size();
}

void NodeMetrics::add_kind(ConsumerKind kind, Uses& uses, const std::vector<std::string>& components, MetricFamily& joules,
                           MetricFamily& watts) {
  choose(kinds_[kind], uses);
  std::vector<Energy> rest(components.size());
  std::optional<Power> rest_power;
  for (const Use& use : uses) {
    add(rest, use.energy);
    if (!use.line) {
      add(rest_power, use.power);
      continue;
    }
    for (std::size_t i = 0; i < components.size() && i < use.energy.size(); ++i) {
      const Energy own = use.energy[i] - at(*use.line, i);
      if (own == Energy()) continue;
      rest[i] -= own;
      add_consumer(joules, name_of(kind), use.name, components[i], own);
    }
    if (use.power) add_power(watts, name_of(kind), use.name, *use.power);
  }
  for (std::size_t i = 0; i < components.size(); ++i) add_consumer(joules, name_of(kind), other_consumers, components[i], rest[i]);
  if (rest_power) add_power(watts, name_of(kind), other_consumers, *rest_power);
}

void NodeMetrics::follow(const std::vector<std::string>& components) {
  if (components == components_) return;
  for (auto& kind : kinds_) {
    for (auto& line : kind.second.lines) {
      std::vector<Energy> moved(components.size());
      for (std::size_t i = 0; i < components.size(); ++i) {
        const auto old = static_cast<std::size_t>(std::ranges::find(components_, components[i]) - components_.begin());
        if (old < line.second.size()) moved[i] = line.second[old];
      }
      line.second = std::move(moved);
    }
  }
  components_ = components;
}

NodeMetrics::Uses NodeMetrics::merged(const Uses& uses, Made& made) {
  std::map<std::string_view, Use> by_name;
  for (const Use& use : uses) {
    const auto [place, is_new] = by_name.try_emplace(use.name, use);
    if (is_new) continue;
    std::vector<Energy>& sums = made.sums.emplace_back(std::max(place->second.energy.size(), use.energy.size()));
    add(sums, place->second.energy);
    add(sums, use.energy);
    place->second.energy = sums;
    add(place->second.power, use.power);
  }
  Uses all;
  for (const auto& named : by_name) all.push_back(named.second);
  return all;
}

// Names that are no UTF-8 are made so, and may then be the same.
std::map<ConsumerKind, NodeMetrics::Uses> NodeMetrics::uses_of(const NodeAccount& account, Made& made) {
  std::map<ConsumerKind, Uses> kinds;
  std::set<ConsumerKind> renamed;
  for (const ConsumerAccount& consumer : account.consumers) {
    std::string_view name = consumer.name;
    if (std::string valid = valid_utf8(name); valid != name) {
      name = made.names.emplace_back(std::move(valid));
      renamed.insert(consumer.kind);
    }
    kinds[consumer.kind].push_back({name, consumer.energy, consumer.power});
  }
  for (const ConsumerKind kind : renamed) kinds[kind] = merged(kinds[kind], made);
  return kinds;
}

void NodeMetrics::add_consumers(const NodeAccount& account, MetricFamily& joules, MetricFamily& watts) {
  std::vector<std::string> components;
  components.reserve(account.components.size());
  for (const ComponentAccount& component : account.components) components.push_back(valid_utf8(component.component));
  follow(components);
  Made made;
  for (auto& [kind, uses] : uses_of(account, made)) {
    if (kind != ConsumerKind::idle && kind != ConsumerKind::unattributed) {
      add_kind(kind, uses, components, joules, watts);
      continue;
    }
    for (const Use& use : uses) {
      for (std::size_t i = 0; i < components.size(); ++i) add_consumer(joules, name_of(kind), use.name, components[i], at(use.energy, i));
      if (use.power) add_power(watts, name_of(kind), use.name, *use.power);
    }
  }
}

std::vector<MetricFamily> NodeMetrics::of(const NodeAccount& account) {
  auto families = all_families();
  for (const ComponentAccount& part : account.components) add_component(part, families[component_joules], families[component_watts]);
  for (const ComponentAccount& part : account.overlaps) add_component(part, families[overlap_joules], families[overlap_watts]);
  add_consumers(account, families[consumer_joules], families[consumer_watts]);
  families[violations].samples.push_back({{}, MetricValue::whole(account.violations)});
  for (const auto& [what, time] : account.missing)
    families[missing_seconds].samples.push_back(
        {{{"meter", valid_utf8(what.first)}, {"reason", valid_utf8(what.second)}}, MetricValue::of(time)});
  families[agent_cpu].samples.push_back({{}, MetricValue::of(account.own_cpu)});
  families[agent_memory].samples.push_back({{}, MetricValue::whole(account.own_memory)});
  families[build_info].samples.push_back({{{"version", valid_utf8(options_.version)}}, MetricValue::whole(1)});
  if (!account.method.empty())
    families[attribution_info].samples.push_back({{{"method", valid_utf8(account.method)}}, MetricValue::whole(1)});
  std::erase_if(families, [](const MetricFamily& family) { return family.samples.empty(); });
  return families;
}

}  // namespace joulery
