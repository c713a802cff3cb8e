// From a power gauge's readings to a Track: the integral of power over time by the trapezoid rule.
//
// A reading is the mean power over Channel::averaging_window up to the device's last refresh, which lies up to one
// update_period back: it stands for the middle of its window, half a window and half an update period before it was read. The
// readings of the first window look back to before the recording and are discarded; the first and last whole windows hold the
// energy at either end. Where the window is 0 (an instant) readings count at the time they were read.
//
// What a sensor does not see between its windows (25 ms of every 100 are seen on an A100) it estimates from what it sees: the
// variance of that grows with how much successive readings differ (Track's roughness). A missing reading costs the time from
// the last good reading to the next: between them power is not known.
//
// Sources: Yang, Adamek, Armour, "Part-time Power Measurements" (SC24) for windows and periods; that a reading is the mean of the
// window that ends with the refresh was checked against an external meter on seven logs (docs/decisions/0008).
#pragma once

#include <span>
#include <vector>

#include "meter/track.h"
#include "sense/reading.h"

namespace joulery {

// `raw` in counts of channel.unit watts; a negative value is rubbish. The track's counts are microjoules. `times` must
// outlive the track. Quality: integrated.
Track integrate_gauge(const Channel& channel, const std::vector<MonoTime>& times, std::span<const std::int64_t> raw,
                      std::span<const MissingReason> reasons);

}  // namespace joulery
