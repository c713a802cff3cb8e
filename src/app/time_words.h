// Instants as people write them on a command line: "now", "-1h", "now-1d12h", "2026-03-01", "2026-03-01T12:00:05Z",
// "2026-03-01 12:00+02:00", "@1772323200". Without a zone: the machine's own.
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"
#include "core/time.h"

namespace joulery {

// Errors: usage, naming the option and the forms that would do.
Result<WallTime> parse_time(std::string_view text, std::string_view option, WallTime now);

// "2026-03-01T12:00:05Z"; with milliseconds where there are any.
std::string utc_text(WallTime at);

}  // namespace joulery
