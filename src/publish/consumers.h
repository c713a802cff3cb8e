// Who used a node, as rows: what `joulery top` shows and the agent's API answers.
//
// Invariant: with no filter and no limit the rows of a kind, with idle and unattributed, sum to the node to the microjoule.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ledger/node_account.h"

namespace joulery {

enum class ConsumerOrder : std::uint8_t { watts, joules, cpu, name };
std::optional<ConsumerOrder> parse_consumer_order(std::string_view text);
std::optional<ConsumerKind> parse_consumer_kind(std::string_view text);  // those that consumers are told by: "process" … "tag"

struct ConsumerChoice {
  ConsumerKind kind = ConsumerKind::process;
  ConsumerOrder order = ConsumerOrder::watts;
  std::string filter;              // a part of the name or of a label's value, any case; "" takes all
  std::optional<std::size_t> most; // rows; idle and unattributed not counted
};

struct ConsumerRow {
  const ConsumerAccount* account = nullptr;
  Energy joules;                   // all components, so far
  std::optional<double> share;     // of the node's energy so far
};

// The rows of the kind in their order, then idle and unattributed. They point into `account`.
std::vector<ConsumerRow> consumer_rows(const NodeAccount& account, const ConsumerChoice& choice);

// The node's energy so far and its power over the last tick: sums of the components that are known. Empty where none is.
std::optional<Energy> node_energy(const NodeAccount& account);
std::optional<Power> node_power(const NodeAccount& account);

// The rows as JSON, schema joulery.consumers/1.
std::string consumers_json(const NodeAccount& account, const ConsumerChoice& choice);

}  // namespace joulery
