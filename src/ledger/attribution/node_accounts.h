// Keeps the accounts of a node tick by tick: every tick's energy is split among the processes that ran, and booked for each of
// them under its process, cgroup, container, pod, unit, job, step, user and tags.
//
// What has ended keeps its own account for as long as it lived, a few minutes at most, so that whoever reads now and then sees its
// last value, and is then folded into "(ended)": sums never fall, and a storm of short processes leaves no crowd of accounts.
//
// A tick costs by those who used something in it: the others are not looked at.
//
// Invariant: after every add(), each kind (but tags) together with idle and unattributed sums to the node, component by component, to the
// microjoule; a tick after which it would not is counted as a violation.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ledger/attribution/split_tick.h"
#include "ledger/node_account.h"
#include "watch/process_sample.h"
#include "watch/workload.h"

namespace joulery {

// One component over one tick, as the ledger tells it.
struct ComponentReading {
  Component component;
  std::string meter;
  Quality quality = Quality::missing;
  std::optional<Energy> energy;   // empty: not known, with the reason
  std::string reason;
  std::optional<Energy> idle;     // the static part, where it is known
  bool overlap = false;           // shown apart, never split
};

// One process over one tick. A use without a process (pid 0) is of a cgroup that reserved something and did not run.
struct ProcessTick {
  ProcessId id;
  std::string name;
  Workload workload;
  ConsumerUse use;                // accelerators by their position among the components of the tick
  bool ended = false;
};

// A process that did nothing in the tick but hold memory. The accounts know it from a ProcessTick before; else it is nobody's.
struct MemoryHeld {
  ProcessId id;
  std::int64_t bytes = 0;
};

struct NodeTick {
  Interval when;
  std::vector<ComponentReading> components;
  std::vector<ProcessTick> processes;
  Duration unattributed_cpu;
  std::string method;             // how CPU time is known
  std::vector<MemoryHeld> held = {};  // by others than `processes`
};

// Which consumer, for as long as these accounts are kept: never given to another.
using ConsumerNumber = std::uint64_t;

// What one consumer was booked in the last tick, for who keeps a history. Valid until the next tick.
struct Booking {
  ConsumerNumber number = 0;
  const ConsumerAccount* consumer = nullptr;
  std::span<const Energy> energy;  // beside NodeAccount::components
};

class NodeAccounts {
 public:
  // What has ended keeps its own account for `linger` at most. `policy`: who carries static energy.
  NodeAccounts(MonoTime begin, IdlePolicy policy, Duration linger);

  void add(const NodeTick& tick);

  // All of it; costs a copy of every account. The second form reuses what `into` holds.
  NodeAccount account() const;
  void account(NodeAccount& into) const;
  // Of the last tick alone: everyone who was booked anything, idle and unattributed too.
  std::vector<Booking> bookings() const;
  // Who was folded into the "(ended)" of its kind after the last tick.
  const std::vector<std::pair<ConsumerNumber, ConsumerKind>>& folded() const { return folded_; }
  const std::vector<ComponentAccount>& components() const { return account_.components; }
  const std::vector<ComponentAccount>& overlaps() const { return account_.overlaps; }
  Duration tick() const { return account_.tick; }  // how long the last one was
  std::int64_t violations() const { return account_.violations; }

 private:
  using Key = std::pair<ConsumerKind, std::string>;
  struct KeyHash {
    std::size_t operator()(const Key& key) const { return std::hash<std::string>()(key.second) + static_cast<std::size_t>(key.first); }
  };
  struct Consumer {
    ConsumerAccount account;
    ConsumerNumber number = 0;
    std::vector<Energy> tick;            // of the last tick, where it is among booked_
    std::int64_t living = 0;             // processes that live
    MonoTime first, last;                // when one of them was seen
    bool booked = false, leaving = false;  // it is among booked_, leaving_
    std::size_t place = 0;               // in order_
  };
  // What all processes of one workload have in common: where they are booked beside their own account.
  struct Belonging {
    std::vector<Consumer*> books;        // they stay as long as it does
    std::vector<Energy> tick;            // of the last tick, where `used`
    Duration cpu;
    std::int64_t living = 0;             // processes
    bool used = false;                   // it is among used_
  };
  using Belongings = std::map<Workload, Belonging>;
  struct Process {
    Consumer* own = nullptr;
    Belongings::iterator belonging;
    std::string name;
  };
  struct IdHash {
    std::size_t operator()(const ProcessId& id) const {
      return static_cast<std::size_t>(id.pid) * 0x9E3779B97F4A7C15ULL ^ static_cast<std::size_t>(id.start_ticks);
    }
  };

  std::size_t component_at(const ComponentReading& reading);
  void take_components(const NodeTick& tick, std::vector<ComponentTick>& known, std::vector<std::size_t>& places);
  Process& process_of(const ProcessTick& tick);
  Belongings::iterator belonging_of(const ProcessTick& tick);
  Consumer& consumer_of(const Key& key);
  Consumer& booked(Consumer& consumer);
  Consumer& booked(Consumer& consumer, Interval tick);
  void book(Consumer& consumer, std::size_t component, Energy energy);
  void book(Process& process, Interval tick, Duration cpu, const std::vector<Energy>& shares);
  void book_belongings(Interval tick);
  void label(Consumer& consumer, const ProcessTick& tick);
  void erase(Consumer& consumer);
  void leave(Consumer& consumer);
  void leave(const Process& process);
  void end_process(const ProcessId& id);
  void book_processes(const NodeTick& tick, const std::vector<ComponentSplit>& splits, const std::vector<std::size_t>& places);
  void close_tick(const NodeTick& tick, const std::vector<Energy>& burnt);
  void fold_ended(Interval tick);
  bool sums_to(const std::vector<Energy>& burnt) const;

  NodeAccount account_;                  // without its consumers
  IdlePolicy policy_;
  Duration linger_;
  std::unordered_map<Key, Consumer, KeyHash> consumers_;
  std::unordered_map<ProcessId, Process, IdHash> processes_;
  std::vector<Consumer*> order_;         // all of them: a copy keeps their places, so that most of it stays as it is
  Belongings belongings_;
  std::vector<Belongings::iterator> used_;  // in the tick that is added
  std::vector<Consumer*> booked_;        // in the last tick
  std::vector<Consumer*> leaving_;       // none of their processes lives, or none did when they came here
  std::vector<std::pair<ConsumerNumber, ConsumerKind>> folded_;
  ConsumerNumber last_number_ = 0;
  std::uint64_t last_version_ = 0;
};

}  // namespace joulery
