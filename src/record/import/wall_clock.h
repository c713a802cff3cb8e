// Times of day as logs write them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "core/time.h"

namespace joulery {

// "2023/07/08 19:28:27.236" (nvidia-smi), "07-23-2022 01:05:41.201" (PTDaemon), "Fri Apr 10 10:23:01 2026" (nvidia-smi XML, perf),
// ISO 8601 ("2026-03-01T10:00:00+01:00", 'T' or a space, with or without zone), and seconds, milliseconds, microseconds or
// nanoseconds since 1970 as one number, told apart by size. `utc_offset` is added to UTC where the text has no zone. Years 1970
// to 2200; empty for anything else.
std::optional<WallTime> parse_wall_time(std::string_view text, Duration utc_offset);

// "+01:00", "-0530", "Z", "+2": hours and minutes east of UTC. Errors: usage.
Result<Duration> parse_utc_offset(std::string_view text);

std::string offset_text(Duration utc_offset);  // "UTC", "UTC+01:00"

}  // namespace joulery
