// The one line that shows on stderr, on a terminal only, while a command runs.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/quantity.h"
#include "publish/style.h"

namespace joulery {

// What to write before each progress line and once after the last: back to the start of the line, clear it.
inline constexpr std::string_view progress_clear = "\r\x1b[2K";

// "joulery  12.3 s  1.20 kJ  98.4 W", shorter than style.width so that it never wraps; what is not known yet is left out.
// No newline, no control characters beyond the colours.
std::string progress_line(Duration elapsed, const std::optional<Energy>& energy, const std::optional<Power>& power, const TextStyle& style);

}  // namespace joulery
