// The energy of steps that may run side by side: of several threads, or of the ranks of a job on one host. They share what the
// host burns: at each moment it is split evenly among the steps that are under way, so that no joule is counted twice.
//
// Invariant: the energies of all steps sum to the energy of their union (the phase "steps"), to the microjoule; of steps that
// do not overlap each has all that was burnt in it.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "core/quantity.h"
#include "ledger/steps.h"

namespace joulery {

// One energy for each step. `energy_of` tells what the host burnt in an interval, additively.
std::vector<Energy> share_among_steps(std::span<const Step> steps, const std::function<Energy(Interval)>& energy_of);

}  // namespace joulery
