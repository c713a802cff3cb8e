// The samples of a run, row by row: for each sampling interval and component, mean power and cumulative energy.
#pragma once

#include <functional>

#include "app/loaded_run.h"
#include "publish/samples.h"

namespace joulery {

// Oldest first, at the run's sampling interval. Stops early where `take` returns false.
void for_each_sample(const LoadedRun& run, const std::function<bool(const SampleRow&)>& take);

}  // namespace joulery
