// Times of a run's steps from a file beside a log: what marks are in a run of our own.
#pragma once

#include <string_view>
#include <vector>

#include "core/result.h"
#include "record/import/write_log.h"
#include "watch/mark.h"

namespace joulery {

// One time a line, as parse_wall_time reads them, in order; a first line that is no time is a title. A step lies between each
// time and the next, where they differ. Errors: format, naming the line.
Result<std::vector<Mark>> marks_of_steps(std::string_view text, const LogClock& clock, Duration utc_offset);

}  // namespace joulery
