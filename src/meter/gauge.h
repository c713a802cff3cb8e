// From a power gauge's readings to a Track: the integral of power over time by the trapezoid rule.
//
// A missing reading costs the time from the last good reading to the next: between them power is not known. Between two
// good readings power is taken as linear; what that can be wrong by grows with how much it moved (Track's roughness).
#pragma once

#include <span>
#include <vector>

#include "meter/track.h"
#include "sense/reading.h"

namespace joulery {

// `raw` in counts of channel.unit watts; a negative value is rubbish. The track's counts are microjoules. `times` must
// outlive the track. Quality: integrated.
Track integrate_gauge(const Channel& channel, const std::vector<MonoTime>& times, std::vector<std::int64_t> raw,
                      std::span<const MissingReason> reasons);

}  // namespace joulery
