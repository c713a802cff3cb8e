// Keeps the accounts of a node tick by tick: every tick's energy is split among the processes that ran, and booked for each of
// them under its process, cgroup, container, pod, unit, job, step, user and tags.
//
// What has ended keeps its own account for as long as it lived, a few minutes at most, so that whoever reads now and then sees its
// last value, and is then folded into "(ended)": sums never fall, and a storm of short processes leaves no crowd of accounts.
//
// Invariant: after every add(), each kind (but tags) together with idle and unattributed sums to the node, component by component, to the
// microjoule; a tick after which it would not is counted as a violation.
#pragma once

#include <map>
#include <string>
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

struct NodeTick {
  Interval when;
  std::vector<ComponentReading> components;
  std::vector<ProcessTick> processes;
  Duration unattributed_cpu;
  std::string method;             // how CPU time is known
};

// What one consumer was booked in the last tick, for who keeps a history.
struct Booking {
  ConsumerKind kind = ConsumerKind::process;
  std::string name;
  std::vector<Energy> energy;     // beside NodeAccount::components
  const std::map<std::string, std::string>* labels = nullptr;  // the consumer's; until the next tick
};

class NodeAccounts {
 public:
  // What has ended keeps its own account for `linger` at most. `policy`: who carries static energy.
  NodeAccounts(MonoTime begin, IdlePolicy policy, Duration linger);

  void add(const NodeTick& tick);

  // All of it; costs a copy of every account.
  NodeAccount account() const;
  // Of the last tick alone: everyone who was booked anything, idle and unattributed too.
  const std::vector<Booking>& bookings() const { return bookings_; }
  const std::vector<ComponentAccount>& components() const { return account_.components; }
  const std::vector<ComponentAccount>& overlaps() const { return account_.overlaps; }
  std::int64_t violations() const { return account_.violations; }

 private:
  using Key = std::pair<ConsumerKind, std::string>;
  struct Consumer {
    ConsumerAccount account;
    std::vector<Energy> tick;            // of the last tick
    std::int64_t living = 0;             // processes that live
    MonoTime first, last;                // when one of them was seen
  };
  struct Process {
    std::vector<Consumer*> books;        // where it is booked; they stay as long as it lives
    Workload workload;
    std::string name;
  };

  std::size_t component_at(const ComponentReading& reading);
  void take_components(const NodeTick& tick, std::vector<ComponentTick>& known, std::vector<std::size_t>& places);
  Process& process_of(const ProcessTick& tick);
  Consumer& consumer_of(const Key& key);
  void end_process(const ProcessTick& tick);
  void fold_ended(Interval tick);
  void close_tick(const NodeTick& tick, const std::vector<Energy>& burnt);
  bool sums_to(const std::vector<Energy>& burnt) const;

  NodeAccount account_;                  // without its consumers
  IdlePolicy policy_;
  Duration linger_;
  std::map<Key, Consumer> consumers_;
  std::map<ProcessId, Process> processes_;
  std::vector<Booking> bookings_;
};

}  // namespace joulery
