// What the agent's store keeps of each tick: the joules of every component and of every consumer that used any.
//
// Series `component_joules` {component, quality}, `component_overlap_joules` {component, quality} and `consumer_joules`
// {kind, name, component, and what identifies the consumer further}. Energies are stored in whole counts of 20 mJ
// (stored_joule_unit); what is less stays for the next tick, so that a series sums to its total. A consumer has a series from its
// first count on. What is left of one that has ended goes to "(ended)" of its kind, so that each kind sums to the node but for
// less than a count for each consumer that is there.
//
// Invariant: a tick in which a component is not known has no sample of it.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
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
  struct Kept {
    std::optional<SeriesId> series;
    WholeCounts counts;
    Energy total;
  };
  using ByComponent = std::vector<Kept>;  // beside NodeAccount::components

  void add_components(const std::vector<ComponentAccount>& components, const char* name);
  void add_consumer(ByComponent& kept, const ConsumerAccount& consumer, std::span<const Energy> energy,
                    const std::vector<ComponentAccount>& components);
  void take_rest(ConsumerNumber number, ConsumerKind kind);

  Store& store_;
  std::unordered_map<ConsumerNumber, ByComponent> consumers_;
  std::map<ConsumerKind, ByComponent> ended_;
  std::map<ConsumerKind, std::vector<Energy>> rests_;  // of who has ended since the last tick
  std::map<std::tuple<std::string, std::string, Quality>, Kept> components_;
  std::vector<StoreSample> samples_;
};

}  // namespace joulery
