// Power limits of hwmon chips: powerN_cap (amdgpu, ACPI power meters), and Intel's graphics cards' powerN_max, which is their
// long-term limit.
#pragma once

#include "act/knob_file.h"
#include "act/power_knob.h"
#include "sense/machine.h"

namespace joulery {

void add_hwmon_knobs(const Machine& machine, KnobFile::Access access, PowerKnobs& knobs);

}  // namespace joulery
