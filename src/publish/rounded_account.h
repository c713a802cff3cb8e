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
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ledger/node_account.h"

namespace joulery {

class RoundedAccount {
 public:
  explicit RoundedAccount(Energy step = microjoules(100'000), Power power_step = watts(0.1))
      : step_(step.base_units()), power_step_(power_step) {}

  NodeAccount of(NodeAccount exact);
  void round(NodeAccount& exact);  // the same, in place

 private:
  using Told = std::vector<std::int64_t>;  // microjoules told so far, beside the components
  struct Row {
    Told told;
    std::uint64_t call = 0;  // the last one in which it was there
  };
  struct NameHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
  };
  struct Seen {
    std::uint64_t version;  // ConsumerAccount::version
    Row* row;
  };
  struct Line {
    ConsumerAccount* consumer;
    Told* told;
  };
  void follow(const NodeAccount& exact);
  Row& row_of(ConsumerKind kind, std::string_view name);
  std::vector<Row*> rows_of(const NodeAccount& account);
  bool is_another(const ConsumerAccount& consumer, const Told& told) const;
  std::vector<Line> lines_of(NodeAccount& account);
  void round_consumers(NodeAccount& account);
  void share(std::span<const Line> lines, const std::vector<Energy>& sums) const;
  void round(ComponentAccount& component) const;
  Energy floor(Energy energy) const;
  void round(std::optional<Power>& power) const;

  std::int64_t step_;
  Power power_step_;
  std::vector<std::string> components_;
  std::vector<Energy> sums_;  // of the exact account
  std::map<ConsumerKind, std::unordered_map<std::string, Row, NameHash, std::equal_to<>>> told_;
  std::uint64_t call_ = 0;
  std::vector<Seen> seen_;    // the last account's consumers; most are at the same place again
};

}  // namespace joulery
