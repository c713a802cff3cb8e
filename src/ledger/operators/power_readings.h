// A component's meter as readings of mean power over windows of time, as near to what the device saw as a recording tells: a
// Track interpolates between readings, and so mixes neighbouring windows, which solving for powers must not.
//
// A counter's reading is the mean power between two refreshes. A gauge's is the mean over its averaging window, which ends at a refresh:
// somewhere between two looks at the device where it is looked at faster than it refreshes, half a refresh before the look otherwise. An
// instant stands for the looks' middle, a hundredth of the time between them.
//
// Invariant: windows are by end, none is empty; a reading that is missing, or whose counter did not continue, gives none.
#pragma once

#include <string>
#include <vector>

#include "ledger/operators/activity.h"
#include "record/recording.h"

namespace joulery {

struct MeterReadings {
  std::string device, channel;         // of which meter; "" where the component has none
  std::vector<PowerReading> readings;
  bool averaged = false;               // of a gauge that averages: over as long as is said of its kind
};

// The meter of `component` that tells the most readings. Errors: those of the recording.
Result<MeterReadings> power_readings(const Recording& recording, const Component& component);

}  // namespace joulery
