// Shares of a whole that sum to it to the last microjoule.
#pragma once

#include <span>
#include <vector>

#include "core/quantity.h"

namespace joulery {

// Splits `whole` in proportion to `weights` (>= 0, finite) by the largest-remainder rule. The shares sum to `whole`
// exactly, and each is within one microjoule of its proportion. All weights 0: every share is 0 but the last, which
// takes the whole. Empty weights: empty.
std::vector<Energy> split(Energy whole, std::span<const double> weights);

}  // namespace joulery
