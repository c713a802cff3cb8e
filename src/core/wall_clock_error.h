// How far the wall clock may be off, as the kernel knows it from whoever steers it (NTP, PTP).
#pragma once

#include <sys/timex.h>

#include <optional>

#include "core/quantity.h"

namespace joulery {

// The kernel's bound (adjtimex(2): maxerror); empty where nobody steers the clock, or it cannot be asked.
inline std::optional<Duration> wall_clock_error() {
  timex about{};
  if (adjtimex(&about) == TIME_ERROR || (about.status & STA_UNSYNC) != 0 || about.maxerror <= 0) return std::nullopt;
  return nanoseconds(static_cast<std::int64_t>(about.maxerror) * 1000);
}

}  // namespace joulery
