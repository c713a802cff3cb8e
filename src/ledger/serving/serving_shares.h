// Whose joules, on a server that works on many requests at a time: each interval's energy above idle is shared by the tokens
// in work within it, a prompt's token weighed by its fitted cost relative to an answer's (serving_costs.h). Pure.
//
// Idle power is nobody's: it is a line of its own, also while the server works. An interval in which nothing was in work is
// idle as a whole, and one of which nothing is known (a server that was restarted) is `unattributed`.
//
// Invariant: shares, idle and unattributed sum to the intervals' energy, to the microjoule, for accelerators and for the rest
// of the node each.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/quality.h"
#include "core/time.h"
#include "ledger/serving/serving_costs.h"
#include "ledger/serving/step_times.h"

namespace joulery {

// The energy of a stretch of time; stretches are adjacent, by time.
struct ServingSlot {
  Interval when;
  Energy accelerators, host;     // host: all of the node that is no accelerator
  bool whole = true;             // false: some of its energy is lost; not fitted
  bool unattributed = false;     // nobody knows who worked
};

struct ServingFacts {
  std::optional<double> idle_accelerator_watts, idle_host_watts;  // both or none
  Quality quality = Quality::measured;  // of the energy
  double relative_error = 0;            // of the energy: half-width of a 90 % interval, 0.05 is ±5 %
};

struct SharedJoules {
  Energy accelerators, host;
  Estimate total;                // the sum of both
  Quality quality = Quality::derived;
};

struct ServingShares {
  ServingCosts costs;
  StepTimes times;
  std::vector<SharedJoules> uses;      // in the order of the uses
  Energy active_accelerators, active_host;
  Energy idle_accelerators, idle_host;
  Energy unattributed;
  Energy sum() const { return active_accelerators + active_host + idle_accelerators + idle_host + unattributed; }
};

ServingShares share_serving(std::span<const ServingSlot> slots, std::span<const ServingUse> uses, const ServingFacts& facts);

}  // namespace joulery
