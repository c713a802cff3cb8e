// The account of a node as it is told to anyone who may reach the agent without proof of who they are: every energy in whole
// steps of 0.1 J, every power in steps of 0.1 W.
//
// Why: fine energy readings of what another user's process does give its secrets away (PLATYPUS, Lipp et al., 2021:
// instructions, and with them keys, told apart by microjoules). All kinds and the components themselves are rounded, not
// the processes alone, for a user, a container or an idle machine's package may be one single process.
//
// Invariant: in the rounded account each kind of consumer sums to each component with idle and unattributed, exactly; no
// figure falls from call to call while its owner lives; and each stays within a few steps of the truth. That takes a
// memory: one RoundedAccount serves all who read the same rounded figures.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ledger/node_account.h"

namespace joulery {

class RoundedAccount {
 public:
  explicit RoundedAccount(Energy step = microjoules(100'000), Power power_step = watts(0.1))
      : step_(step.base_units()), power_step_(power_step) {}

  NodeAccount of(const NodeAccount& exact);

 private:
  using Told = std::vector<std::int64_t>;  // microjoules told so far, beside the components
  void follow(const NodeAccount& exact);
  void forget_the_gone(NodeAccount& account);
  void round_consumers(NodeAccount& account);
  void share(std::span<ConsumerAccount* const> consumers, const std::vector<Energy>& sums);
  void round(ComponentAccount& component) const;
  Energy floor(Energy energy) const;
  void round(std::optional<Power>& power) const;

  std::int64_t step_;
  Power power_step_;
  std::vector<std::string> components_;
  std::vector<Energy> sums_;  // of the exact account
  std::map<std::pair<ConsumerKind, std::string>, Told> told_;
};

}  // namespace joulery
