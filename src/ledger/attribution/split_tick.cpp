#include "ledger/attribution/split_tick.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "ledger/split.h"

namespace joulery {
namespace {

bool below(const Component& component, std::string_view folder) {
  const std::string& path = component.path();
  return path == folder || (path.starts_with(folder) && path[folder.size()] == '/');
}

double weight_at(const std::vector<std::pair<std::size_t, double>>& weights, std::size_t component) {
  double sum = 0;
  for (const auto& [of, weight] : weights)
    if (of == component) sum += weight;
  return sum;
}

// How one component is shared: a weight for each consumer, and one, at the end, for those who are not known.
class Weights {
 public:
  Weights(std::span<const ConsumerUse> consumers, Duration unattributed_cpu)
      : consumers_(consumers),
        unattributed_cpu_(unattributed_cpu),
        memory_known_(std::ranges::any_of(consumers, [](const ConsumerUse& use) { return use.memory > 0; })) {}

  std::vector<double> of_use(Driver driver, std::size_t component) const {
    std::vector<double> weights;
    weights.reserve(consumers_.size() + 1);
    const bool by_memory = driver == Driver::memory && memory_known_;
    for (const ConsumerUse& use : consumers_) {
      if (driver == Driver::accelerator)
        weights.push_back(weight_at(use.accelerators, component));
      else
        weights.push_back(by_memory ? static_cast<double>(use.memory) : static_cast<double>(use.cpu.base_units()));
    }
    weights.push_back(driver == Driver::accelerator || by_memory ? 0 : static_cast<double>(unattributed_cpu_.base_units()));
    return weights;
  }

  // Shares 0..1 of the component; where more was promised than there is, all are cut alike. Last: what nobody reserved.
  std::vector<double> of_reservations(Driver driver, std::size_t component) const {
    std::vector<double> weights;
    weights.reserve(consumers_.size() + 1);
    for (const ConsumerUse& use : consumers_) {
      const double share = driver == Driver::accelerator ? weight_at(use.reserved_accelerators, component)
                           : driver == Driver::memory    ? use.reserved_memory
                                                         : use.reserved_cpu;
      weights.push_back(std::max(0.0, share));
    }
    const double promised = std::accumulate(weights.begin(), weights.end(), 0.0);
    weights.push_back(std::max(0.0, 1 - promised));
    return weights;
  }

 private:
  std::span<const ConsumerUse> consumers_;
  Duration unattributed_cpu_;
  bool memory_known_;
};

// Adds `parts` (one per consumer and a last one) to the shares; gives the last.
Energy add(const std::vector<Energy>& parts, ComponentSplit& into) {
  for (std::size_t i = 0; i < into.shares.size(); ++i) into.shares[i] += parts[i];
  return parts.back();
}

ComponentSplit split_one(const ComponentTick& tick, std::size_t at, const Weights& weights, std::size_t consumers, IdlePolicy policy) {
  const Driver driver = driver_of(tick.component);
  ComponentSplit result{std::vector<Energy>(consumers), {}, {}};
  const Energy idle = std::clamp(tick.idle.value_or(Energy{}), Energy{}, std::max(Energy{}, tick.energy));
  const std::vector<double> use = weights.of_use(driver, at);
  const bool used = std::ranges::any_of(use, [](double weight) { return weight > 0; });
  result.unattributed = add(split(tick.energy - idle, use), result);  // all to the last where nobody used it
  if (policy == IdlePolicy::reserved)
    result.idle = add(split(idle, weights.of_reservations(driver, at)), result);
  else if (policy == IdlePolicy::proportional && used)
    result.unattributed += add(split(idle, use), result);
  else
    result.idle = idle;
  return result;
}

}  // namespace

std::optional<IdlePolicy> parse_idle_policy(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, IdlePolicy>, 3> names{
      {{"separate", IdlePolicy::separate}, {"proportional", IdlePolicy::proportional}, {"reserved", IdlePolicy::reserved}}};
  const auto found = std::ranges::find(names, text, &std::pair<std::string_view, IdlePolicy>::first);
  return found == names.end() ? std::nullopt : std::optional(found->second);
}

Driver driver_of(const Component& component) {
  if (below(component, "node/gpu")) return Driver::accelerator;
  return below(component, "node/dram") ? Driver::memory : Driver::cpu;
}

std::vector<ComponentSplit> split_tick(std::span<const ComponentTick> components, std::span<const ConsumerUse> consumers,
                                       Duration unattributed_cpu, IdlePolicy policy) {
  const Weights weights(consumers, unattributed_cpu);
  std::vector<ComponentSplit> result;
  result.reserve(components.size());
  for (std::size_t i = 0; i < components.size(); ++i) result.push_back(split_one(components[i], i, weights, consumers.size(), policy));
  return result;
}

}  // namespace joulery
