// From a counter's raw readings to a Track. The rules, per new reading `r` at `t` after the last good one:
//
//   missing           the gap is bridged if the next good value continues the count, else it is lost
//   rises, plausible  counted. If the channel's greatest power could have wrapped it once more in that time, the energy
//                     is ambiguous: lost, with what it may have been
//   falls             a wrap, only if range, elapsed time and greatest power allow it; else held until the next reading
//   jumps             (more than the component could burn) held until the next reading
//   held, then        the next reading continues from before: a glitch, bridged; it continues from the held value: a
//                     reset or a step, lost; neither: still unknown
//   stands still      for a second, where the component always burns: lost if it goes on at its usual pace, bridged if
//                     it catches up
//
// Counters stay integers of their own width until the wrap-aware difference.
#pragma once

#include <span>
#include <vector>

#include "meter/track.h"
#include "sense/reading.h"

namespace joulery {

// `times` and `raw` run side by side; `reasons` too, or is empty where nothing is missing. `raw` becomes the track's counts.
// `times` must outlive the track. A channel with Behaviour::counter and Measurand::energy (or busy_time: unit seconds).
Track unwrap_counter(const Channel& channel, const std::vector<MonoTime>& times, std::vector<std::int64_t> raw,
                     std::span<const MissingReason> reasons, std::span<const Suspension> suspensions);

// The longest time between readings at which no wrap of these counters goes unseen: half the shortest wrap time.
// `asked` where nothing wraps sooner.
Duration safe_interval(std::span<const Channel> channels, Duration asked);

}  // namespace joulery
