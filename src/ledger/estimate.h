// Estimated tracks: the power model followed along the utilisation of the CPUs.
#pragma once

#include "factors/power_model.h"
#include "ledger/timeline.h"

namespace joulery {

// The tracks of one machine's estimate. The bands are chosen so that the independent errors of the three add up to the
// error of the node as a whole.
struct NodeEstimate {
  Track package, memory, rest;
};

NodeEstimate estimate_node(const CpuActivity& activity, const PowerModel& model);

}  // namespace joulery
