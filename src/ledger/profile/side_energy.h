// The cumulative energy of what one side of a profile pays for, at moments that only go on.
#pragma once

#include <cstdint>
#include <vector>

#include "ledger/ledger.h"
#include "ledger/profile/trace_clock.h"

namespace joulery {

struct ActivitySide;

// Gives each counted row of the ledger to a side: an accelerator's to the device of its number where the trace has it,
// all others to the host. A trace that saw one device, on a machine that measures one, means that one.
void give_rows(const Ledger& ledger, std::vector<ActivitySide>& sides);

class SideEnergy {
 public:
  // `rows` and `clock` outlive it.
  SideEnergy(const std::vector<const Row*>& rows, const TraceClock& clock, std::int64_t begin);

  // Joules from some origin until `time` of the profile. Times never go back.
  double joules_until(std::int64_t time);

 private:
  struct Part {
    Track::Walk walk;
    double sign;
  };
  const TraceClock* clock_;
  std::vector<Part> parts_;
};

}  // namespace joulery
