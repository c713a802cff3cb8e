// How the power sensor of an NVIDIA GPU samples: how often a reading changes, and over how long before the change it is a mean.
// One table, so that the meter, the integration of power over time and the documentation say the same.
//
// Source: Yang, Adamek, Armour, "Part-time Power Measurements: nvidia-smi's Lack of Attention" (SC24), summary over more than 70
// cards and three ranges of drivers; and the library's own documentation of nvmlDeviceGetPowerUsage and field 185 (a second's
// average since Ampere, but not on GA100).
//
// Invariant: a window shorter than the update period means that the rest of the time is not seen at all: on an A100 three
// quarters of it.
#pragma once

#include <cstdint>

#include "core/quantity.h"

namespace joulery {

// Which of the library's three readings of power.
enum class PowerReading : std::uint8_t {
  draw,     // nvmlDeviceGetPowerUsage, nvidia-smi's power.draw
  average,  // field 185, power.draw.average
  instant,  // field 186, power.draw.instant
};

enum class SensorResponse : std::uint8_t {
  mean,         // the mean of the window
  logarithmic,  // approaches a new power as a capacitor is charged (Kepler, Maxwell): no window can be told
};

struct PowerSensor {
  Duration update;  // time between two changes of the reading
  Duration window;  // the mean of this long before the change; 0: an instant, or not known
  SensorResponse response = SensorResponse::mean;
};

// What tells the sensor: all as the library says it. 0: not known.
struct GpuGeneration {
  unsigned architecture = 0;   // nvmlDeviceGetArchitecture: 2 Kepler, 3 Maxwell, 4 Pascal, 5 Volta, 6 Turing, 7 Ampere, 8 Ada, 9 Hopper
  int cc_major = 0, cc_minor = 0;  // compute capability: 8.0 is GA100 (A100, A30), whose sensor is not that of other Amperes
  int driver = 0;              // major number of the driver: 535
};

// The sensor behind a reading. A generation that the table does not know is taken as Hopper, its latest; an unknown driver as a
// present one.
PowerSensor power_sensor(const GpuGeneration& gpu, PowerReading reading);

// The same study's gains of 19 cards against an external meter: -9.5 to +6.4 %, offsets -12 to +12 W (data/nvidia_power_gain.csv).
// Only a calibration removes them, so an uncalibrated reading is as uncertain as this: half-widths of a 90 % interval, which hold
// the truth for 18 of those cards at every load from 20 to 500 W.
inline constexpr double uncalibrated_relative = 0.07, uncalibrated_watts = 10;

}  // namespace joulery
