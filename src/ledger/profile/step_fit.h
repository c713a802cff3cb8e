// Finds which steps of a recording are those of a trace, and from them what lies between their clocks.
#pragma once

#include <optional>
#include <span>

#include "ledger/steps.h"
#include "watch/profile/profile.h"

namespace joulery {

struct StepFit {
  std::int64_t offset_ns = 0;     // trace time + this is recording time
  Duration error;                 // 90 % of the steps differ from the offset by less; at least the resolution of a mark
  int pairs = 0;
};

// `about`: an offset that is known from the clocks, so that each step of the trace meets the recorded one next to it.
// Without it, the trace's row of steps is laid on each place of the recording's and the place with the least spread is
// taken, where no other fits nearly as well (even steps fit everywhere: then nothing is told). Steps are compared by their
// begins and by their ends, and the more constant of the two counts. Nothing for fewer than 2 pairs (4 without `about`).
std::optional<StepFit> fit_steps(std::span<const ProfileStep> trace, std::span<const Step> recorded, std::optional<std::int64_t> about);

}  // namespace joulery
