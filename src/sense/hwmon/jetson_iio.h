// The rails of NVIDIA's Jetson boards up to JetPack 4, whose kernel shows their INA3221 monitors as devices of the industrial
// I/O framework, in milliwatts: /sys/bus/i2c/devices/*/iio:device*/in_power0_input and its rail_name_0. Later kernels show
// them as hwmon chips. A module's total input (VDD_IN, POM_5V_IN) contains the other rails, which lie below it.
#pragma once

#include "sense/meter.h"

namespace joulery {

Discovery probe_jetson_iio(const Machine& machine);

}  // namespace joulery
