// A power sensor that sees a part of the time, against a program whose steps keep its pace: where the steps' period and the
// sensor's are near a ratio of small whole numbers, every window falls on nearly the same part of a step, and the mean of the
// readings is that part's, not the step's.
//
// How it is found: from the marks the steps' period, from the changes of the readings the sensor's. With f = h/step − m/update for
// small whole m and h = ½, 1 or 2 (½: every other step differs), the readings swing slowly at the beat 1/|f|. The run is longer or
// shorter than a whole number of beats, so that their mean is wrong by up to amplitude × beat / (π × run); a beat longer than that
// shows no swing at all, and the mean may be wrong by the whole amplitude.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ledger/steps.h"
#include "ledger/timeline.h"

namespace joulery {

struct Resonance {
  Duration step, update;  // periods as found
  double steps = 0;       // that go into `updates`: ½, 1, 2
  int updates = 0;
  Duration beat;
  Power error;            // how far the mean over the steps may be off: half-width
  std::string text() const;  // "two steps of 52.2 ms to an update of 101 ms, a beat of 3.4 s"
};

// `updates` and `steps` by time, `steps` within `run`. Empty where there are fewer than 16 updates or steps within the run, where
// the beat is shorter than four updates (the scatter of the readings then tells the error), and where a swing that there should be
// is not in the readings.
std::optional<Resonance> find_resonance(std::span<const GaugeUpdate> updates, std::span<const Step> steps, Interval run);

// Widens every source that a resonance touches, and gives a flag for each: "sensor-resonance: node/gpu/0: ...".
std::vector<std::string> widen_for_resonance(Timeline& timeline, std::span<const Step> steps);

}  // namespace joulery
