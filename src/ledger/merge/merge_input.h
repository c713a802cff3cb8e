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
  MonoTime middle() const { return run.begin + nanoseconds(run.length().base_units() / 2); }
  // Wall less monotonic time, on a straight line between the crossings of the clocks around `at`.
  Duration wall_ahead(MonoTime at) const;
};

}  // namespace joulery
