// What a machine runs inside of: a virtual machine, a container, both or neither. It tells why a sensor is missing.
#pragma once

#include <string>

#include "sense/machine.h"

namespace joulery {

struct Surroundings {
  bool virtual_machine = false;
  std::string hypervisor;  // "KVM", "VMware": "" where unknown
  bool container = false;
};

Surroundings read_surroundings(const Machine& machine);

}  // namespace joulery
