// The time-stamp counter's ticks as monotonic time. Marked programs stamp their marks with the bare counter, which costs
// half of what CLOCK_MONOTONIC costs; whoever reads the marks looks at both clocks at each reading and goes straight from
// look to look. The kernel keeps its own time by the same counter (else no program would use it) and bends its rate by at
// most 0.05 % (adjtimex), so between two looks a tick is placed within a few hundred nanoseconds.
//
// Invariant: later ticks give a later or the same time, whenever they are asked for: a look never changes what was told
// of ticks before it. No time is after the latest look.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/time.h"

namespace joulery {

class TickClock {
 public:
  TickClock();
  // Looks at both clocks. Call it after reading what is to be converted.
  void look();
  // Nothing for a tick that is after the latest look, as only rubbish can be, and on machines without such a counter.
  std::optional<MonoTime> time_of(std::uint64_t tick) const;

 private:
  struct Look {
    std::uint64_t tick = 0;
    std::int64_t ns = 0;
  };
  static Look look_once();
  std::vector<Look> looks_;  // tick and ns both grow; the older ones of a long run are forgotten
};

}  // namespace joulery
