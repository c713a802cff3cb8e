// How busy the CPUs were between readings of their busy time.
#pragma once

#include <span>
#include <vector>

#include "core/time.h"

namespace joulery {

// Between times[i-1] and times[i]: busy seconds / (elapsed seconds * threads), in 0..1; element 0 is 0.
// `busy`: cumulative CPU seconds. The kernel counts them in ticks, so a short interval may show more than it can hold:
// what exceeds 1 is carried to the intervals after it, so that no busy time is lost. Each value is uncertain by one
// tick: tick / (elapsed * threads).
std::vector<double> utilisation(std::span<const MonoTime> times, std::span<const double> busy, int threads);

}  // namespace joulery
