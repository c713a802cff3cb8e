// What ran when, and what a meter said meanwhile: what operators' powers are solved from.
//
// Operators take micro- to milliseconds and meters tell one figure in 1 to 100 ms, so no operator is ever seen alone. Over many
// readings each holds another mix of operators, and from the mixes the power of each kind can be solved (operator_powers.h).
//
// Invariant: activities and readings are on one clock; a reading's window is never empty.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/quantity.h"
#include "core/time.h"

namespace joulery {

// One run of an operator of one kind. `amount`: how much of it ran, 1 for a kernel or a thread, the number of cores for a region of
// many threads.
struct Activity {
  std::uint32_t kind = 0;  // index into the names of the kinds
  Interval when;
  double amount = 1;
};

// The mean power that a meter told for a window of time. Windows may overlap: a sensor may average over longer than it refreshes.
struct PowerReading {
  Interval when;
  double watts = 0;
};

}  // namespace joulery
