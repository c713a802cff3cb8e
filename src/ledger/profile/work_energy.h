// A side's energy, given to its works: by the power of each, where the meter's readings tell it, else by time.
//
// Invariant: works and rest sum to the side's energy, to the microjoule.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ledger/ledger.h"
#include "ledger/profile/activity.h"
#include "ledger/profile/trace_clock.h"
#include "record/recording.h"
#include "watch/profile/profile.h"

namespace joulery {

struct WorkEnergy {
  std::vector<Energy> works;                       // by number
  Energy rest;                                     // of the gaps or, where `rest_is_static`, of a power that burns all the time
  bool rest_is_static = false;
  bool fitted = false;                             // more than half of the energy is by fitted powers
  std::vector<std::optional<Energy>> low, high;    // 90 %; empty where the work was not fitted, or not told apart
  std::vector<std::string> merged;                 // the group that a work could not be told apart in; "" where it stands alone
  std::vector<std::string> notes;
};

// `row_energy`: of each of side.rows over `when`, known or not. `recording` may be null: then by time.
WorkEnergy work_energy(const Profile& profile, const ActivitySide& side, const std::vector<std::optional<Estimate>>& row_energy,
                       const Recording* recording, const TraceClock& clock, Interval when);

}  // namespace joulery
