// The account of a node as JSON: what /api/v1/node, /api/v1/consumers, /api/v1/events and `joulery top --json` give.
//
// Invariant: every field is always there; an unknown one is null and the `reason` beside it says why. Joules are printed from
// whole microjoules: those of a kind's rows, of idle and of unattributed sum to the node's to the last digit.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "ledger/node_account.h"
#include "publish/json_writer.h"

namespace joulery {

enum class ConsumerOrder : std::uint8_t { joules, watts, cpu, name };

// Which consumers, and in what order within their kind.
struct ConsumerChoice {
  std::vector<ConsumerKind> kinds;  // none: all
  std::size_t top = 0;              // of each kind; 0: all
  ConsumerOrder order = ConsumerOrder::joules;
};

// "process,user"; "watts". Errors: usage, naming what there is and what is nearest.
Result<std::vector<ConsumerKind>> parse_kinds(std::string_view text);
Result<ConsumerOrder> parse_order(std::string_view text);

// Joules of the counted components, so far.
Energy node_energy(const NodeAccount& account);

// The keys of joulery.node/1 after "schema", in an open object. `rounded`: figures are in steps of 0.1 (publish/rounded_account).
void write_node(JsonWriter& json, const NodeAccount& account, bool rounded);

// The keys of joulery.consumers/1 after "schema": "rows", and for each kind of which some were left out a row of "others".
void write_consumers(JsonWriter& json, const NodeAccount& account, const ConsumerChoice& choice);

// The whole objects, one line each.
std::string node_json(const NodeAccount& account, bool rounded);
std::string consumers_json(const NodeAccount& account, const ConsumerChoice& choice, bool rounded);

}  // namespace joulery
