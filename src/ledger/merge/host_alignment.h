// Lays the clock of one host on that of the job's first: by the steps that both have in common, else by the wall clocks.
#pragma once

#include <string>
#include <vector>

#include "ledger/merge/clock_fit.h"
#include "ledger/merge/merge_plan.h"

namespace joulery {

// Begin and end of each round of a host's ranks: the medians over its ranks, each by the host's own clock.
struct HostRounds {
  std::vector<MonoTime> begins, ends;
  Duration typical;   // median length of a step
};

// What the common rounds say; empty where they cannot be common: too few, clocks that would run apart by more than 500 ppm (which
// no kernel allows), or differences that wander as those of programs do that do not wait for each other. `expected`: the shift by
// the wall clocks, which tells which round of the one belongs to which of the other where their numbers differ.
std::optional<ClockFit> fit_rounds(const HostRounds& job, const HostRounds& host, Duration expected);

// Fills shift, clock and alignment of `host`. `first` is the host whose clock is the job's. What could not be compared goes to `notes`.
void align_host(const std::vector<MergeInput>& inputs, const PlannedHost& first, PlannedHost& host, std::vector<std::string>& notes);

}  // namespace joulery
