// Finds when a trace was taken from how its load rises and falls, against the power that was measured: the last resort,
// for traces that do not say when they were made.
#pragma once

#include "core/result.h"
#include "ledger/ledger.h"
#include "watch/profile/profile.h"

namespace joulery {

struct LoadFit {
  std::int64_t offset_ns = 0;     // trace time + this is recording time
  Duration error;                 // half the width of all places that fit nearly as well
  double correlation = 0;
  double rival = 0;               // of the best place that is not next to the chosen one; 0: there is none
};

// Pearson's correlation of the busy time of the trace (its devices', where it has any) with the power of the ledger's
// counted rows (accelerators', likewise), at every place of the run that holds the trace. Errors: not_found where the
// power tells nothing (too few readings, no rise and fall, no place that correlates by more than a half).
Result<LoadFit> fit_load(const Profile& profile, const Ledger& ledger, Interval run);

}  // namespace joulery
