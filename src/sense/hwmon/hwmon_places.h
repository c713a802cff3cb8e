// Where the sensors of known hwmon drivers burn.
#pragma once

#include <string>
#include <string_view>

#include "sense/channel.h"

namespace joulery {

struct HwmonPlace {
  Component component;
  Scope scope = Scope::component;  // platform: what it contains is not known, so it is shown apart and never added
  double relative_error = 0.10;    // half-width of 90 %
};

// `index` counts the chips of one driver; `label` is what the sensor says of itself, or its name ("power1").
// `package_of_core`: the package of core number N, for drivers that number cores through all packages; -1 if not known.
// `card`: the component of the graphics card that the chip sits on, "" where it is none or not known (node/gpu/amd-0).
HwmonPlace hwmon_place(std::string_view driver, std::size_t index, std::string_view label, int package_of_core,
                       const std::string& card = {});

// The number at the end of "Esocket1" or "Ecore017"; -1 where there is none.
int trailing_number(std::string_view label);

}  // namespace joulery
