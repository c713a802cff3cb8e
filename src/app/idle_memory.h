// What was learnt of this machine's idle power: the last measured baseline, kept in the user's state folder for each
// set of meters, so that later runs know it without measuring again.
#pragma once

#include <optional>

#include "app/loaded_run.h"
#include "sense/meter.h"

namespace joulery {

// Empty where nothing was learnt with these meters, or the file cannot be read.
std::optional<IdlePower> recall_idle(const Discovery& discovery);

// Keeps the baseline that `run` measured, if it did. A failure to write is no failure of the run.
void remember_idle(const Discovery& discovery, const LoadedRun& run);

}  // namespace joulery
