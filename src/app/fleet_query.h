// Asks an engine for all that a fleet's report needs. What the engine can sum up by itself it does; raw samples are only asked
// for of the nodes whose counters began anew in between.
//
// For each counter four instant queries: its last value up to the beginning (looked for in the day before it), its last value in
// the time, whether it fell in the time, and its least value in it: a counter that is never below its value at the beginning and
// never fell has risen by the difference of the first two.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "app/promql.h"
#include "judge/fleet.h"

namespace joulery {

struct FleetQuestion {
  WallTime from, to;                                        // whole milliseconds
  std::vector<std::pair<std::string, std::string>> where;   // labels that a node's series must have
  std::vector<std::string> kinds;                           // of consumers, beside idle and unattributed
  std::string node_label = "instance";
};

// Errors: those of PromEndpoint::ask(); not_found, where the engine has no joules of any node in this time.
Result<FleetFacts> ask_fleet(PromEndpoint& engine, const FleetQuestion& question);

}  // namespace joulery
