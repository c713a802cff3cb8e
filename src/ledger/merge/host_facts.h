// What the recording of a job says besides series: of each host what a recording of it alone would say, and of the job.
#pragma once

#include <string>
#include <vector>

#include "ledger/merge/merge_plan.h"

namespace joulery {

// The crossings of the clocks of a host's recordings, moved as its times are; at least one, by time.
std::vector<ClockMap> moved_crossings(const std::vector<MergeInput>& inputs, const PlannedHost& host);

// The facts of one host, from one or several recordings of it: work and marks lost add up, what one tells alone is taken from it.
RunFacts host_facts(const std::vector<MergeInput>& inputs, const PlannedHost& host);

Metadata job_metadata(const std::vector<MergeInput>& inputs, const MergePlan& plan, const std::string& version);

}  // namespace joulery
