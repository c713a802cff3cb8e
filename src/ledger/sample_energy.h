// What sampled stacks burnt: the energy of the command's CPU time, as its processes' lines of the report tell it, shared over its samples by
// how much power there was when each was taken.
//
// In a slot of time a sample weighs the node's energy above idle, by the part of the busy CPU time that it stands for. So a function that
// runs while the processors burn more pays more than one that runs as long while they burn less.
//
// Invariant: the shares sum to the energy to the microjoule.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ledger/ledger.h"
#include "watch/stacks/stack_sampler.h"

namespace joulery {

// `energy`: of the command's CPU time. `idle`: power of the host that no CPU time caused; 0 where not known. One share per stack.
std::vector<Energy> share_by_sample(const SampledRun& run, Energy energy, const Timeline& timeline, const Ledger& ledger, Power idle);

}  // namespace joulery
