// Hardware monitoring chips that report power or energy: graphics cards, ACPI power meters, rail monitors. Each chip is a
// device of its own and slow, for a read may go over I2C or through firmware.
#pragma once

#include "sense/meter.h"

namespace joulery {

Discovery probe_hwmon(const Machine& machine);

}  // namespace joulery
