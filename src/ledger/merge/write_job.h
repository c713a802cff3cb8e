// Writes the recording of a job from those of its hosts, as a plan of the merge says (docs/formats/recording.md, "Several hosts").
#pragma once

#include <string>
#include <vector>

#include "ledger/merge/merge_plan.h"

namespace joulery {

// Makes `output`, whole or not at all. Errors: `output` exists or cannot be written; those of the recordings.
Result<void> write_job(const std::vector<MergeInput>& inputs, const MergePlan& plan, const std::string& version, const std::string& output);

}  // namespace joulery
