// What the agent's store keeps of each tick: the joules of every component and of every consumer that used any.
//
// Series `component_joules` {component, quality}, `component_overlap_joules` {component, quality} and `consumer_joules`
// {kind, name, component, and what identifies the consumer further}. Energies are stored in whole counts of 20 mJ
// (stored_joule_unit); what is less stays for the next tick, so that a series sums to its total.
//
// Invariant: a tick in which a component is not known has no sample of it.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "ledger/attribution/node_accounts.h"
#include "record/store/store.h"

namespace joulery {

class StoredAccount {
 public:
  explicit StoredAccount(Store& store) : store_(store) {}

  // The last tick of `accounts`, which ended at `at`.
  void add(const NodeAccounts& accounts, WallTime at, Duration tick);

 private:
  using Key = std::tuple<ConsumerKind, std::string, std::string>;  // kind, name, component
  struct Kept {
    SeriesId series;
    WholeCounts counts;
    Energy total;
    std::uint64_t tick = 0;  // when it was used last
  };

  Kept& kept_of(const Booking& booking, const std::string& component);
  void add_components(const std::vector<ComponentAccount>& components, const char* name, std::vector<StoreSample>& samples);
  void forget_the_quiet();

  Store& store_;
  std::map<Key, Kept> consumers_;
  std::map<std::tuple<std::string, std::string, Quality>, Kept> components_;
  std::uint64_t tick_ = 0;
};

}  // namespace joulery
