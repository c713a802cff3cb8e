// Logs that are snapshots one after the other, some without a time in them.
#pragma once

#include <cstddef>

#include "record/import/imported_log.h"

namespace joulery {

// The time of the snapshot `index` of `count` that has none of its own: evenly spaced by options.interval from an unknown origin.
// Errors: format, where there are several and no interval was said.
Result<WallTime> assumed_time(std::size_t index, std::size_t count, const ImportOptions& options);

// Notes that times were assumed; the log then has no wall clock.
void note_assumed_times(ImportedLog& log, const ImportOptions& options);

// A counter that rises once: nothing at `begin`, `microjoules` at `end`; or a reason at either.
LoggedDevice energy_over(std::string kind, std::string name, Channel channel, LoggedInterval when, LoggedValue microjoules);

// A channel of an energy in whole microjoules.
Channel energy_channel(std::string component, Accuracy accuracy);

}  // namespace joulery
