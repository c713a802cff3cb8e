// What nvidia-smi's logs, as CSV or XML, have in common: the card behind a name, and the channels of its readings.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "record/import/imported_log.h"
#include "sense/nvidia/power_sensor.h"

namespace joulery {

// "NVIDIA A100-SXM4-40GB", "Tesla K40m", "Ampere" -> its generation; architecture 0 where the name tells none.
GpuGeneration gpu_generation(std::string_view name);

// "535.104.05" -> 535; 0 where it is no version.
int driver_major(std::string_view version);

// The readings that a log may hold, in order of the CSV's columns.
enum class SmiReading : std::uint8_t { draw, average, instant, utilisation, memory, memory_total, sm_clock, module };

struct SmiChannel {
  SmiReading reading;
  Channel channel;
  double scale;  // SI units per unit of the log: 1048576 for MiB
};

// Channels for the readings that the log has, power first and of it the one that sees most: what sees all the time before what
// does not, a short window before a long one.
std::vector<SmiChannel> smi_channels(const GpuGeneration& gpu, const std::string& component, std::vector<SmiReading> readings);

// Where a log of one power column does not tell the driver, its readings may: a mean over a second cannot rise by most of its
// whole range within one update and stay there. Then the column is the instant, as driver 530 gave it. True if changed.
bool correct_window(LoggedDevice& device, const GpuGeneration& gpu);

}  // namespace joulery
