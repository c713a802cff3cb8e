// The account of a node as JSON: what /api/v1/node answers, and what the answers about consumers and the events begin with.
//
// Invariant: every field is always there; an unknown one is null and the `reason` beside it says why. Joules are printed from
// whole microjoules: those of the counted components sum to the node's to the last digit.
#pragma once

#include <string>

#include "ledger/node_account.h"
#include "publish/json_writer.h"

namespace joulery {

// The keys of joulery.node/1 after "schema", in an open object. `rounded`: figures are in steps of 0.1 (publish/rounded_account).
void write_node(JsonWriter& json, const NodeAccount& account, bool rounded);

// The whole object, one line.
std::string node_json(const NodeAccount& account, bool rounded);

}  // namespace joulery
