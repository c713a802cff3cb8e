// What one power sensor reads against a true meter: a factor that takes its joules to the meter's. NVIDIA's sensors read -9.5 to
// +6.4 % of the truth, each card its own, and only a meter beside it tells (data/nvidia_power_gain.csv).
//
// Invariant: a factor lies between 0.5 and 2: what is further off is no gain but a fault, or the energy of something else.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "ledger/timeline.h"

namespace joulery {

struct SensorGain {
  std::string device, channel;  // as recordings name them: "GPU-5b4e... NVIDIA A100", "power_instant"
  double factor = 1;            // true joules per joule of the sensor
  std::string source;           // where it was learnt: "3.44 kJ by a meter, run.joulery"
};

// What is left of the error: the gain's own, and an offset that weighs more at another load.
inline constexpr Accuracy accuracy_with_gain{.relative = 0.02, .absolute = watts(5)};

// The gains of every power channel of `component` from the energy that a meter showed over the run. Errors: usage, where nothing
// of that name was integrated, part of the time is lost, or the factor is out of range.
Result<std::vector<SensorGain>> learn_gains(const Timeline& timeline, const std::string& component, Energy metered,
                                            const std::string& source);

// Applies what is known of the timeline's sensors; a flag for each: "sensor-gain: node/gpu/0 power: x1.055, ...".
std::vector<std::string> apply_gains(Timeline& timeline, const std::vector<SensorGain>& gains);

// As kept in a file. Errors: format.
std::string to_json(const std::vector<SensorGain>& gains);
Result<std::vector<SensorGain>> gains_from_json(std::string_view text);

}  // namespace joulery
