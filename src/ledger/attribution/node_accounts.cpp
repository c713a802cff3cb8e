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

Energy sum_of(std::span<const Energy> energies) { return std::accumulate(energies.begin(), energies.end(), Energy{}); }

// The uses, with accelerators by their position among those components that are split.
std::vector<ConsumerUse> uses_of(const NodeTick& tick) {
  std::vector<std::size_t> position(tick.components.size());
  std::size_t split = 0;
  for (std::size_t i = 0; i < tick.components.size(); ++i) position[i] = tick.components[i].overlap ? tick.components.size() : split++;
  std::vector<ConsumerUse> uses;
  uses.reserve(tick.processes.size() + tick.held.size());
  for (const ProcessTick& process : tick.processes) {
    ConsumerUse& use = uses.emplace_back(process.use);
    for (auto* weights : {&use.accelerators, &use.reserved_accelerators})
      for (auto& [component, weight] : *weights) component = position.at(component);
  }
  for (const MemoryHeld& held : tick.held) uses.emplace_back().memory = held.bytes;
  return uses;
}

// What identifies a consumer further, where anything does.
Labels labels_of(ConsumerKind kind, const ProcessTick& tick) {
  const Workload& of = tick.workload;
  Labels labels;
  const auto add = [&](std::string_view name, const std::string& value) {
    const auto at = std::ranges::lower_bound(labels, name, {}, &Labels::value_type::first);
    if (value.empty()) return;
    if (at != labels.end() && at->first == name)
      at->second = value;
    else
      labels.emplace(at, name, value);
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
    for (const auto& [name, value] : of.tags) add(name, value);
  return labels;
}

// Beside its own.
std::vector<std::pair<ConsumerKind, std::string>> books_of(const Workload& of) {
  std::vector<std::pair<ConsumerKind, std::string>> books{
      {ConsumerKind::cgroup, name_or_none(of.cgroup)}, {ConsumerKind::container, name_or_none(of.container)},
      {ConsumerKind::pod, name_or_none(of.pod)},       {ConsumerKind::unit, name_or_none(of.unit)},
      {ConsumerKind::job, name_or_none(of.job)},       {ConsumerKind::step, name_or_none(of.step)},
      {ConsumerKind::user, name_or_none(of.user)}};
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
  Consumer& consumer = at->second;
  if (is_new) {
    consumer.account.kind = key.first;
    consumer.account.name = key.second;
    consumer.account.power = Power{};
    consumer.account.version = ++last_version_;
    consumer.number = ++last_number_;
    consumer.place = order_.size();
    order_.push_back(&consumer);
  }
  return consumer;
}

void NodeAccounts::label(Consumer& consumer, const ProcessTick& tick) {
  consumer.account.labels = labels_of(consumer.account.kind, tick);
  consumer.account.version = ++last_version_;
}

void NodeAccounts::erase(Consumer& consumer) {
  order_[consumer.place] = order_.back();
  order_[consumer.place]->place = consumer.place;
  order_.pop_back();
  consumers_.erase(Key{consumer.account.kind, consumer.account.name});
}

// The consumer, ready to be booked something in this tick.
NodeAccounts::Consumer& NodeAccounts::booked(Consumer& consumer) {
  if (consumer.booked) return consumer;
  consumer.booked = true;
  consumer.tick.assign(account_.components.size(), Energy{});
  consumer.account.energy.resize(account_.components.size());
  booked_.push_back(&consumer);
  return consumer;
}

void NodeAccounts::book(Consumer& consumer, std::size_t component, Energy energy) {
  consumer.tick[component] += energy;
  consumer.account.energy[component] += energy;
}

// The same, by a process that was there.
NodeAccounts::Consumer& NodeAccounts::booked(Consumer& consumer, Interval tick) {
  if (consumer.first == MonoTime{}) consumer.first = tick.begin;
  consumer.last = tick.end;
  return booked(consumer);
}

void NodeAccounts::leave(Consumer& consumer) {
  if (--consumer.living > 0 || consumer.leaving || stays(consumer.account.name)) return;
  consumer.leaving = true;
  leaving_.push_back(&consumer);
}

void NodeAccounts::leave(const Process& process) {
  leave(*process.own);
  --process.belonging->second.living;
}

NodeAccounts::Belongings::iterator NodeAccounts::belonging_of(const ProcessTick& tick) {
  const auto [at, is_new] = belongings_.try_emplace(tick.workload);
  ++at->second.living;
  if (!is_new) return at;
  for (const Key& key : books_of(tick.workload)) {
    Consumer& consumer = consumer_of(key);
    ++consumer.living;
    label(consumer, tick);
    at->second.books.push_back(&consumer);
  }
  return at;
}

// A process that has another name or belongs elsewhere than before (exec, a move to another cgroup) is booked anew from now on.
NodeAccounts::Process& NodeAccounts::process_of(const ProcessTick& tick) {
  const auto [at, is_new] = processes_.try_emplace(tick.id);
  Process& process = at->second;
  if (!is_new && process.name == tick.name && process.belonging->first == tick.workload) return process;
  if (!is_new) leave(process);
  process = {&consumer_of({ConsumerKind::process, process_name(tick)}), belonging_of(tick), tick.name};
  ++process.own->living;
  label(*process.own, tick);
  return process;
}

void NodeAccounts::end_process(const ProcessId& id) {
  const auto found = processes_.find(id);
  if (found == processes_.end()) return;
  leave(found->second);
  processes_.erase(found);
}

// `shares` beside the accounts' components.
void NodeAccounts::book(Process& process, Interval tick, Duration cpu, const std::vector<Energy>& shares) {
  Consumer& own = booked(*process.own, tick);
  Belonging& common = process.belonging->second;
  if (!common.used) {
    common.used = true;
    common.cpu = {};
    common.tick.assign(shares.size(), Energy{});
    used_.push_back(process.belonging);
  }
  own.account.cpu += cpu;
  common.cpu += cpu;
  for (std::size_t c = 0; c < shares.size(); ++c) {
    book(own, c, shares[c]);
    common.tick[c] += shares[c];
  }
}

// What processes of one workload used goes where all of them belong to. A workload without a process is forgotten.
void NodeAccounts::book_belongings(Interval tick) {
  for (const auto& at : used_) {
    Belonging& belonging = at->second;
    belonging.used = false;
    for (Consumer* consumer : belonging.books) {
      booked(*consumer, tick).account.cpu += belonging.cpu;
      for (std::size_t c = 0; c < belonging.tick.size(); ++c) book(*consumer, c, belonging.tick[c]);
    }
  }
  used_.clear();
  std::erase_if(belongings_, [&](const auto& entry) {
    if (entry.second.living > 0) return false;
    for (Consumer* consumer : entry.second.books) leave(*consumer);
    return true;
  });
}

void NodeAccounts::book_processes(const NodeTick& tick, const std::vector<ComponentSplit>& splits, const std::vector<std::size_t>& places) {
  std::vector<Energy> shares(account_.components.size());
  const auto shares_of = [&](std::size_t use) -> const std::vector<Energy>& {
    std::ranges::fill(shares, Energy{});
    for (std::size_t c = 0; c < splits.size(); ++c) shares[places[c]] += splits[c].shares[use];
    return shares;
  };
  std::size_t use = tick.processes.size();
  for (const MemoryHeld& held : tick.held) {
    const std::vector<Energy>& own = shares_of(use++);
    if (const auto holder = processes_.find(held.id); holder != processes_.end()) {
      book(holder->second, tick.when, {}, own);
      continue;
    }
    Consumer& nobody = booked(consumer_of({ConsumerKind::unattributed, ""}));
    for (std::size_t c = 0; c < own.size(); ++c) book(nobody, c, own[c]);
  }
  for (std::size_t p = 0; p < tick.processes.size(); ++p) {
    const ProcessTick& process = tick.processes[p];
    book(process_of(process), tick.when, process.use.cpu, shares_of(p));
    if (process.ended || process.id.pid == 0) end_process(process.id);
  }
  book_belongings(tick.when);
}

void NodeAccounts::add(const NodeTick& tick) {
  for (Consumer* consumer : booked_) {
    consumer->booked = false;
    consumer->account.power = Power{};
  }
  booked_.clear();
  std::vector<ComponentTick> known;
  std::vector<std::size_t> places;
  take_components(tick, known, places);
  const std::vector<ComponentSplit> splits = split_tick(known, uses_of(tick), tick.unattributed_cpu, policy_);
  std::vector<Energy> burnt(account_.components.size());
  for (std::size_t c = 0; c < known.size(); ++c) {
    burnt[places[c]] += known[c].energy;
    if (known[c].idle) book(booked(consumer_of({ConsumerKind::idle, ""})), places[c], splits[c].idle);
    book(booked(consumer_of({ConsumerKind::unattributed, ""})), places[c], splits[c].unattributed);
  }
  book_processes(tick, splits, places);
  close_tick(tick, burnt);
}

void NodeAccounts::close_tick(const NodeTick& tick, const std::vector<Energy>& burnt) {
  if (!sums_to(burnt)) ++account_.violations;
  account_.now = tick.when.end;
  account_.tick = tick.when.length();
  account_.method = tick.method;
  for (Consumer* consumer : booked_) consumer->account.power = sum_of(consumer->tick) / tick.when.length();
  fold_ended(tick.when);
}

// True where every kind that sums was booked exactly what was burnt.
bool NodeAccounts::sums_to(const std::vector<Energy>& burnt) const {
  constexpr std::size_t kinds = static_cast<std::size_t>(ConsumerKind::unattributed) + 1;
  std::array<std::vector<Energy>, kinds> sums;
  for (auto& sum : sums) sum.resize(burnt.size());
  const auto of = [&](ConsumerKind kind) -> std::vector<Energy>& { return sums[static_cast<std::size_t>(kind)]; };
  for (const Consumer* consumer : booked_)
    for (std::size_t c = 0; c < burnt.size(); ++c) of(consumer->account.kind)[c] += consumer->tick[c];
  return std::ranges::all_of(kinds_that_sum, [&](ConsumerKind kind) {
    for (std::size_t c = 0; c < burnt.size(); ++c)
      if (of(kind)[c] + of(ConsumerKind::idle)[c] + of(ConsumerKind::unattributed)[c] != burnt[c]) return false;
    return true;
  });
}

void NodeAccounts::fold_ended(Interval tick) {
  folded_.clear();
  std::erase_if(leaving_, [&](Consumer* consumer) {
    if (consumer->living > 0) {
      consumer->leaving = false;  // another process has come to it
      return true;
    }
    const Duration kept = std::max(tick.length(), std::min(linger_, consumer->last - consumer->first - tick.length()));
    if (tick.end - consumer->last < kept) return false;
    Consumer& sum = consumer_of({consumer->account.kind, ended});
    for (std::size_t c = 0; c < consumer->account.energy.size(); ++c) add_at(sum.account.energy, c, consumer->account.energy[c]);
    sum.account.cpu += consumer->account.cpu;
    folded_.emplace_back(consumer->number, consumer->account.kind);
    erase(*consumer);
    return true;
  });
}

std::vector<Booking> NodeAccounts::bookings() const {
  std::vector<Booking> all;
  all.reserve(booked_.size());
  for (const Consumer* consumer : booked_)
    if (consumer->account.power != Power{}) all.push_back({consumer->number, &consumer->account, consumer->tick});
  return all;
}

NodeAccount NodeAccounts::account() const {
  NodeAccount account;
  this->account(account);
  return account;
}

void NodeAccounts::account(NodeAccount& into) const {
  std::vector<ConsumerAccount> consumers = std::move(into.consumers);
  into = account_;
  consumers.resize(order_.size());
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const ConsumerAccount& from = order_[i]->account;
    ConsumerAccount& to = consumers[i];
    if (to.version != from.version) {
      to = from;
    } else {
      to.energy = from.energy;
      to.power = from.power;
      to.cpu = from.cpu;
    }
    to.energy.resize(into.components.size());
  }
  into.consumers = std::move(consumers);
}

}  // namespace joulery
