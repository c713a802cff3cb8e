// The power limits of NVIDIA GPUs. Setting one takes root (CAP_SYS_ADMIN), whoever opened the library.
#pragma once

#include "act/knob_file.h"
#include "act/power_knob.h"
#include "sense/machine.h"

namespace joulery {

// Adds a limit for each GPU that tells one; a GPU whose driver cannot limit it (laptops) has none. A partitioned GPU (MIG) has one
// for the whole board, which is told and not set: it would hold every slice, whoever uses it.
void add_nvml_knobs(const Machine& machine, KnobFile::Access access, PowerKnobs& knobs);

}  // namespace joulery
