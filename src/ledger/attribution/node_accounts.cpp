#include "ledger/attribution/node_accounts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace joulery {
namespace {

constexpr const char *none = "(none)", *ended = "(ended)", *reserved = "(reserved)";
constexpr std::array kinds_that_sum{ConsumerKind::process, ConsumerKind::cgroup, ConsumerKind::container, ConsumerKind::pod,
                                    ConsumerKind::unit,    ConsumerKind::job,    ConsumerKind::step,      ConsumerKind::user};

std::string name_or_none(const std::string& name) { return name.empty() ? none : name; }

std::string process_name(const ProcessTick& tick) { return tick.id.pid == 0 ? reserved : fmt::format("{}[{}]", tick.name, tick.id.pid); }

bool stays(const std::string& name) { return name.empty() || name == none || name == ended || name == reserved; }

void add_at(std::vector<Energy>& energies, std::size_t at, Energy energy) {
  if (energies.size() <= at) energies.resize(at + 1);
  energies[at] += energy;
}

Energy sum_of(const std::vector<Energy>& energies) { return std::accumulate(energies.begin(), energies.end(), Energy{}); }

// The uses, with accelerators by their position among those components that are split.
std::vector<ConsumerUse> uses_of(const NodeTick& tick) {
  std::vector<std::size_t> position(tick.components.size());
  std::size_t split = 0;
  for (std::size_t i = 0; i < tick.components.size(); ++i) position[i] = tick.components[i].overlap ? tick.components.size() : split++;
  std::vector<ConsumerUse> uses;
  uses.reserve(tick.processes.size());
  for (const ProcessTick& process : tick.processes) {
    ConsumerUse& use = uses.emplace_back(process.use);
    for (auto* weights : {&use.accelerators, &use.reserved_accelerators})
      for (auto& [component, weight] : *weights) component = position.at(component);
  }
  return uses;
}

// What identifies a consumer further, where anything does.
std::map<std::string, std::string> labels_of(ConsumerKind kind, const ProcessTick& tick) {
  const Workload& of = tick.workload;
  std::map<std::string, std::string> labels;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) labels[name] = value;
  };
  if (kind == ConsumerKind::process) {
    add("pid", std::to_string(tick.id.pid));
    add("user", of.user);
    add("unit", of.unit);
    add("job", of.job);
  }
  if (kind == ConsumerKind::process || kind == ConsumerKind::container) add("pod", of.pod);
  if (kind == ConsumerKind::process) add("container", of.container);
  if (kind == ConsumerKind::container) add("runtime", of.runtime);
  if (kind == ConsumerKind::step) add("job", of.job);
  if (kind != ConsumerKind::user && kind != ConsumerKind::tag)
    for (const auto& [name, value] : of.tags) add(name.c_str(), value);
  return labels;
}

std::vector<std::pair<ConsumerKind, std::string>> books_of(const ProcessTick& tick) {
  const Workload& of = tick.workload;
  std::vector<std::pair<ConsumerKind, std::string>> books{
      {ConsumerKind::process, process_name(tick)},           {ConsumerKind::cgroup, name_or_none(of.cgroup)},
      {ConsumerKind::container, name_or_none(of.container)}, {ConsumerKind::pod, name_or_none(of.pod)},
      {ConsumerKind::unit, name_or_none(of.unit)},           {ConsumerKind::job, name_or_none(of.job)},
      {ConsumerKind::step, name_or_none(of.step)},           {ConsumerKind::user, name_or_none(of.user)}};
  for (const auto& [name, value] : of.tags) books.emplace_back(ConsumerKind::tag, name + "=" + value);
  return books;
}

}  // namespace

NodeAccounts::NodeAccounts(MonoTime begin, IdlePolicy policy, Duration linger) : policy_(policy), linger_(linger) {
  account_.begin = account_.now = begin;
}

// Where the component stands among the accounts; booked there too.
std::size_t NodeAccounts::component_at(const ComponentReading& reading) {
  auto& all = reading.overlap ? account_.overlaps : account_.components;
  auto found = std::ranges::find(all, reading.component.path(), &ComponentAccount::component);
  if (found == all.end()) {
    all.push_back({reading.component.path(), reading.meter, Quality::missing, {}, std::nullopt, "", std::nullopt});
    found = all.end() - 1;
  }
  return static_cast<std::size_t>(found - all.begin());
}

void NodeAccounts::take_components(const NodeTick& tick, std::vector<ComponentTick>& known, std::vector<std::size_t>& places) {
  for (auto* all : {&account_.components, &account_.overlaps})
    for (ComponentAccount& component : *all) component.power.reset();
  for (const ComponentReading& reading : tick.components) {
    const std::size_t at = component_at(reading);
    ComponentAccount& account = (reading.overlap ? account_.overlaps : account_.components)[at];
    account.quality = reading.energy ? reading.quality : Quality::missing;
    account.meter = reading.meter;
    account.reason = reading.reason;
    if (reading.idle) account.idle = *reading.idle / tick.when.length();
    if (!reading.energy) {
      account_.missing[{reading.meter.empty() ? reading.component.path() : reading.meter, reading.reason}] += tick.when.length();
    } else {
      account.energy[reading.quality] += *reading.energy;
      account.power = *reading.energy / tick.when.length();
    }
    if (reading.overlap) continue;
    known.push_back({reading.component, reading.energy.value_or(Energy{}), reading.idle});
    places.push_back(at);
  }
}

NodeAccounts::Consumer& NodeAccounts::consumer_of(const Key& key) {
  const auto [at, is_new] = consumers_.try_emplace(key);
  if (is_new) {
    at->second.account.kind = key.first;
    at->second.account.name = key.second;
  }
  return at->second;
}

// A process that has another name or belongs elsewhere than before (exec, a move to another cgroup) is booked anew from now on.
NodeAccounts::Process& NodeAccounts::process_of(const ProcessTick& tick) {
  const auto [at, is_new] = processes_.try_emplace(tick.id);
  Process& process = at->second;
  if (!is_new && process.name == tick.name && process.workload == tick.workload) return process;
  for (Consumer* book : process.books) --book->living;
  process = {{}, tick.workload, tick.name};
  for (const Key& key : books_of(tick)) {
    Consumer& consumer = consumer_of(key);
    ++consumer.living;
    consumer.account.labels = labels_of(key.first, tick);
    process.books.push_back(&consumer);
  }
  return process;
}

void NodeAccounts::end_process(const ProcessTick& tick) {
  const auto found = processes_.find(tick.id);
  if (found == processes_.end()) return;
  for (Consumer* book : found->second.books) --book->living;
  processes_.erase(found);
}

void NodeAccounts::add(const NodeTick& tick) {
  for (auto& [key, consumer] : consumers_) consumer.tick.assign(consumer.tick.size(), Energy{});
  std::vector<ComponentTick> known;
  std::vector<std::size_t> places;
  take_components(tick, known, places);
  const std::vector<ConsumerUse> uses = uses_of(tick);
  const std::vector<ComponentSplit> splits = split_tick(known, uses, tick.unattributed_cpu, policy_);
  std::vector<Energy> burnt(account_.components.size());
  const auto book = [](Consumer& consumer, std::size_t component, Energy energy) {
    add_at(consumer.tick, component, energy);
    add_at(consumer.account.energy, component, energy);
  };
  for (std::size_t c = 0; c < known.size(); ++c) {
    burnt[places[c]] += known[c].energy;
    if (known[c].idle) book(consumer_of({ConsumerKind::idle, ""}), places[c], splits[c].idle);
    book(consumer_of({ConsumerKind::unattributed, ""}), places[c], splits[c].unattributed);
  }
  for (std::size_t p = 0; p < tick.processes.size(); ++p) {
    for (Consumer* consumer : process_of(tick.processes[p]).books) {
      if (consumer->first == MonoTime{}) consumer->first = tick.when.begin;
      consumer->last = tick.when.end;
      consumer->account.cpu += tick.processes[p].use.cpu;
      for (std::size_t c = 0; c < known.size(); ++c) book(*consumer, places[c], splits[c].shares[p]);
    }
    if (tick.processes[p].ended || tick.processes[p].id.pid == 0) end_process(tick.processes[p]);
  }
  close_tick(tick, burnt);
}

void NodeAccounts::close_tick(const NodeTick& tick, const std::vector<Energy>& burnt) {
  if (!sums_to(burnt)) ++account_.violations;
  account_.now = tick.when.end;
  account_.tick = tick.when.length();
  account_.method = tick.method;
  bookings_.clear();
  for (auto& [key, consumer] : consumers_) {
    const Energy sum = sum_of(consumer.tick);
    consumer.account.power = sum / tick.when.length();
    if (sum != Energy{}) bookings_.push_back({key.first, key.second, consumer.tick, &consumer.account.labels});
  }
  fold_ended(tick.when);
}

// True where every kind that sums was booked exactly what was burnt.
bool NodeAccounts::sums_to(const std::vector<Energy>& burnt) const {
  std::map<ConsumerKind, std::vector<Energy>> booked;
  for (const auto& [key, consumer] : consumers_)
    for (std::size_t c = 0; c < consumer.tick.size(); ++c) add_at(booked[key.first], c, consumer.tick[c]);
  const auto at = [&](ConsumerKind kind, std::size_t c) { return c < booked[kind].size() ? booked[kind][c] : Energy{}; };
  return std::ranges::all_of(kinds_that_sum, [&](ConsumerKind kind) {
    for (std::size_t c = 0; c < burnt.size(); ++c)
      if (at(kind, c) + at(ConsumerKind::idle, c) + at(ConsumerKind::unattributed, c) != burnt[c]) return false;
    return true;
  });
}

void NodeAccounts::fold_ended(Interval tick) {
  for (auto at = consumers_.begin(); at != consumers_.end();) {
    const auto& [key, consumer] = *at;
    const Duration kept = std::max(tick.length(), std::min(linger_, consumer.last - consumer.first - tick.length()));
    if (stays(key.second) || consumer.living > 0 || tick.end - consumer.last < kept) {
      ++at;
      continue;
    }
    Consumer& sum = consumer_of({key.first, ended});
    for (std::size_t c = 0; c < consumer.account.energy.size(); ++c) add_at(sum.account.energy, c, consumer.account.energy[c]);
    sum.account.cpu += consumer.account.cpu;
    at = consumers_.erase(at);
  }
}

NodeAccount NodeAccounts::account() const {
  NodeAccount account = account_;
  std::vector<std::pair<Energy, const ConsumerAccount*>> order;
  order.reserve(consumers_.size());
  for (const auto& [key, consumer] : consumers_) order.emplace_back(sum_of(consumer.account.energy), &consumer.account);
  std::ranges::stable_sort(order, [](const auto& a, const auto& b) {
    return a.second->kind != b.second->kind ? a.second->kind < b.second->kind : a.first > b.first;
  });
  account.consumers.reserve(order.size());
  for (const auto& [energy, consumer] : order) account.consumers.emplace_back(*consumer).energy.resize(account.components.size());
  return account;
}

}  // namespace joulery
