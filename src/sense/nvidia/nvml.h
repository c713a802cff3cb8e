// NVIDIA GPUs: energy, power and limits, utilisation, memory, clocks and what holds them, traffic, processes, MIG slices. Each GPU
// is a device of its own, so that one that is lost or hangs costs nothing but itself.
#pragma once

#include "sense/meter.h"

namespace joulery {

// On this machine; a recorded tree has GPUs only where it shows a loaded driver (proc/driver/nvidia/version).
// A GPU without an energy counter (before Volta) has its power alone; one with neither is a finding and no device.
Discovery probe_nvml(const Machine& machine);

// False where a recorded tree shows no driver: the library of the machine that reads the tree is then not to be asked.
bool may_have_nvml(const Machine& machine);

}  // namespace joulery
