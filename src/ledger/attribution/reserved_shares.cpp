#include "ledger/attribution/reserved_shares.h"

#include <algorithm>
#include <functional>
#include <map>

namespace joulery {
namespace {

using Resource = Reservations::Resource;
using Weight = std::function<double(const ConsumerUse&)>;

double by_cpu(const ConsumerUse& use) { return static_cast<double>(use.cpu.base_units()); }
double by_memory(const ConsumerUse& use) { return static_cast<double>(use.memory); }

// The processes of the tick, by the allocation that they are in.
class Members {
 public:
  explicit Members(std::size_t allocations) : of_(allocations) {}
  void add(std::optional<std::size_t> allocation, std::size_t process) {
    if (!allocation) return;
    if (*allocation >= of_.size()) of_.resize(*allocation + 1);
    of_[*allocation].push_back(process);
  }
  // Tells each member its part of 1; false where none of them has any weight.
  bool share(std::size_t allocation, NodeTick& tick, const Weight& weight, const std::function<void(ConsumerUse&, double)>& give) const {
    if (allocation >= of_.size()) return false;
    double sum = 0;
    for (const std::size_t p : of_[allocation]) sum += weight(tick.processes[p].use);
    if (!(sum > 0)) return false;
    for (const std::size_t p : of_[allocation]) give(tick.processes[p].use, weight(tick.processes[p].use) / sum);
    return true;
  }

 private:
  std::vector<std::vector<std::size_t>> of_;
};

// Where "node/gpu/3" stands among the components, by its number; only those that are split.
std::map<int, std::size_t> accelerators_of(const NodeTick& tick) {
  constexpr std::string_view before = "node/gpu/";
  std::map<int, std::size_t> places;
  for (std::size_t c = 0; c < tick.components.size(); ++c) {
    const std::string& path = tick.components[c].component.path();
    if (tick.components[c].overlap || !path.starts_with(before)) continue;
    const std::string number = path.substr(before.size());
    if (!number.empty() && std::ranges::all_of(number, [](char d) { return d >= '0' && d <= '9'; }) && number.size() < 6)
      places[std::stoi(number)] = c;
  }
  return places;
}

// Those who hold an accelerator that no job was given.
void reserve_held(std::size_t component, NodeTick& tick) {
  const auto weight = [&](const ConsumerUse& use) {
    double sum = 0;
    for (const auto& [of, part] : use.accelerators)
      if (of == component) sum += part;
    return sum;
  };
  double sum = 0;
  for (const ProcessTick& process : tick.processes) sum += weight(process.use);
  if (!(sum > 0)) return;
  for (ProcessTick& process : tick.processes)
    if (const double of = weight(process.use); of > 0) process.use.reserved_accelerators.emplace_back(component, of / sum);
}

}  // namespace

void add_reservations(Reservations& reservations, NodeTick& tick) {
  reservations.look(tick.when.end);
  const std::size_t processes = tick.processes.size();
  std::array<Members, 3> members{Members(reservations.all().size()), Members(reservations.all().size()),
                                 Members(reservations.all().size())};
  for (std::size_t p = 0; p < processes; ++p) {
    const ProcessTick& process = tick.processes[p];
    const auto place = reservations.place_of(process.id, process.workload, process.ended);
    members[0].add(place.of[Reservations::cpu], p);
    members[1].add(place.of[Reservations::memory], p);
    members[2].add(place.accelerators, p);
  }
  std::map<int, std::size_t> unclaimed = accelerators_of(tick);
  const auto accelerators = unclaimed;
  std::vector<ProcessTick> asleep;
  for (std::size_t a = 0; a < reservations.all().size(); ++a) {
    const Allocation& allocation = reservations.all()[a];
    ConsumerUse rest;
    const double cpu = allocation.share[Reservations::cpu], memory = allocation.share[Reservations::memory];
    if (!members[0].share(a, tick, by_cpu, [&](ConsumerUse& use, double part) { use.reserved_cpu = cpu * part; })) rest.reserved_cpu = cpu;
    const auto give_memory = [&](ConsumerUse& use, double part) { use.reserved_memory = memory * part; };
    if (!members[1].share(a, tick, by_memory, give_memory) && !members[1].share(a, tick, by_cpu, give_memory))
      rest.reserved_memory = memory;
    for (const int number : allocation.accelerators) {
      const auto component = accelerators.find(number);
      if (component == accelerators.end()) continue;
      unclaimed.erase(number);
      const auto give = [&](ConsumerUse& use, double part) { use.reserved_accelerators.emplace_back(component->second, part); };
      if (!members[2].share(a, tick, by_cpu, give)) give(rest, 1);
    }
    if (rest.reserved_cpu > 0 || rest.reserved_memory > 0 || !rest.reserved_accelerators.empty())
      asleep.push_back({{}, "", allocation.workload, std::move(rest), false});
  }
  for (const auto& [number, component] : unclaimed) reserve_held(component, tick);
  std::ranges::move(asleep, std::back_inserter(tick.processes));
}

}  // namespace joulery
