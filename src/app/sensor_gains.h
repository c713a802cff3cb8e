// The user's file of sensor gains, and `joulery calibrate --sensor`, which adds to it.
#pragma once

#include <string>
#include <vector>

#include "ledger/sensor_gain.h"

namespace joulery {

// What was learnt; nothing where there is no file. Errors: a file that cannot be read or is damaged.
Result<std::vector<SensorGain>> known_gains();

// True where the words ask for a sensor's gain: "--sensor REC --energy E".
bool asks_for_sensor(const std::vector<std::string>& arguments);
// Learns it and keeps it; the exit code.
int calibrate_sensor(std::vector<std::string> arguments);

}  // namespace joulery
