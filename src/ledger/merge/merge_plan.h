// Which recordings are of one host, what each host is called, and how their clocks lie on each other: all that must be known,
// and may be refused, before anything is written.
//
// Recordings of one boot share a monotonic clock and the machine's joules: where they overlap in time they are one host, counted
// once. The same recording given twice is taken once.
#pragma once

#include <string>
#include <vector>

#include "ledger/job_host.h"
#include "ledger/merge/merge_input.h"

namespace joulery {

struct PlannedHost {
  std::string name;
  std::vector<std::size_t> inputs;   // by begin
  Interval run;                      // on its own clock, not yet moved: from the first begin to the last end
  Duration shift;                    // what is added to its times: a whole number of microseconds
  HostClock clock;                   // what is left of the way to the job's clock
  ClockAlignment alignment;
  Interval on_job() const { return clock.on_job(Interval{run.begin + shift, run.end + shift}); }
};

struct MergePlan {
  std::vector<PlannedHost> hosts;    // the first one's clock is the job's
  std::vector<std::string> notes;    // flags of the report: what was counted once, whose clocks could not be compared
};

// `apart`: recordings that do not overlap in time are one job all the same. Errors: usage.
Result<MergePlan> plan_merge(const std::vector<MergeInput>& inputs, bool apart);

}  // namespace joulery
