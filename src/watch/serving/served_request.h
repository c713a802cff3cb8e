// One request that a model server has answered: when, of which model, with how many tokens. What a server's own log, its
// spans and our proxy have in common.
//
// Invariant: start <= scheduled <= first_token <= end, as far as they are known. A count that nobody told is empty, not 0.
#pragma once

#include <optional>
#include <string>

#include "core/time.h"

namespace joulery {

struct ServedRequest {
  std::string id;                        // "" where the log names none
  std::string model;                     // "" where it is not said
  std::string group;                     // what the user calls this kind of request: a route, a tenant; "" where not said
  WallTime start;                        // arrived
  std::optional<WallTime> scheduled;     // left the queue
  std::optional<WallTime> first_token;   // empty where the answer came as a whole
  WallTime end;
  std::optional<double> tokens_in;       // of the prompt that were computed: without those that a cache had
  std::optional<double> tokens_out;
};

}  // namespace joulery
