// A stretch of time for which a channel has no reading of its own, and why.
//
// Invariant: where `energy_lost` is false the counter ran on and its difference across the gap is exact; where it is
// true no joule is counted for the gap, and any sum over it is partial.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/quantity.h"
#include "core/time.h"

namespace joulery {

// What the energy of a lost gap may have been: least + k * step for a whole k <= most_steps.
struct PossibleEnergy {
  Energy least, step;
  std::int64_t most_steps = 0;
};

struct Gap {
  Interval when;
  std::string reason;       // "read failed", "counter fell from 812 J to 3 J: reset"
  bool energy_lost = false;
  std::optional<PossibleEnergy> possible;
};

// A machine asleep: the monotonic clock stood still at `at` for `length`.
struct Suspension {
  MonoTime at;
  Duration length;
};

}  // namespace joulery
