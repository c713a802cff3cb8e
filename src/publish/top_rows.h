// Who used a node, as the rows that `joulery top` shows.
//
// Invariant: with no filter and no limit the rows of a kind, with idle and unattributed, sum to the node to the microjoule.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "ledger/node_account.h"
#include "publish/account_json.h"

namespace joulery {

struct TopChoice {
  ConsumerKind kind = ConsumerKind::process;
  ConsumerOrder order = ConsumerOrder::watts;
  std::string filter;              // a part of the name or of a label's value, any case; "" takes all
  std::optional<std::size_t> most; // rows; idle and unattributed not counted
};

struct TopRow {
  const ConsumerAccount* account = nullptr;
  Energy joules;                   // all components, so far
  std::optional<double> share;     // of the node's energy so far
};

// The rows of the kind in their order, then idle and unattributed. They point into `account`.
std::vector<TopRow> top_rows(const NodeAccount& account, const TopChoice& choice);

// The sum of the components whose power over the last tick is known; empty where none is.
std::optional<Power> node_power(const NodeAccount& account);

}  // namespace joulery
