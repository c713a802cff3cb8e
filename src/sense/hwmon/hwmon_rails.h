// The power and energy sensors of one hardware monitoring chip (/sys/class/hwmon/hwmonN), as its driver lays them out:
// which files to read and where what they measure burns.
//
// Invariant: a rail appears once. A chip that reports power itself is never asked for voltage times current.
#pragma once

#include <string>
#include <vector>

#include "sense/channel.h"
#include "sense/machine.h"

namespace joulery {

struct HwmonRail {
  Channel channel;
  std::string file;          // microwatts or microjoules; or millivolts where `current_file` is given
  std::string current_file;  // milliamperes: the rail's power is the product, in microwatts
};

struct HwmonChip {
  std::string folder;  // "/sys/class/hwmon/hwmon3"
  std::string driver;  // "amdgpu"; the folder's name where the chip tells none
  std::size_t index = 0;  // among the chips of its driver
  std::string card;    // the graphics card that it sits on: "node/gpu/amd-0"; "" where it is none or not known
  std::string name;    // unique on this machine: the driver, and "-1" for the second of its kind
  std::vector<HwmonRail> rails;
  std::vector<std::string> disabled;  // labels of sensors that are switched off
};

// Every chip, also those without rails.
std::vector<HwmonChip> read_hwmon_chips(const Machine& machine);

}  // namespace joulery
