// A recording that is to be merged, with what the merging must know of it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ledger/run_facts.h"
#include "ledger/steps.h"
#include "record/recording.h"

namespace joulery {

struct MergeInput {
  std::string file;
  std::unique_ptr<Recording> recording;
  RunFacts facts;
  std::vector<ClockMap> crossings;
  Interval run;                         // its end is the last reading where the recording has none
  std::vector<ProcessSample> processes;
  std::vector<Mark> marks;

  static Result<MergeInput> open(const std::string& file);
  // The crossing of the clocks nearest to the middle of the run.
  const ClockMap& crossing() const;
  // Wall less monotonic time, at that crossing.
  Duration wall_ahead() const { return nanoseconds(crossing().wall.ns - crossing().mono.ns); }
};

}  // namespace joulery
