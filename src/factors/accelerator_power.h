// What an accelerator burns that tells no power itself, by how busy it is: published measurements of its maker, where there
// are any. They are of other chips in other racks, so their band is wide.
#pragma once

#include <optional>
#include <string_view>

#include "factors/power_model.h"

namespace joulery {

struct AcceleratorPower {
  std::string_view name;    // what the device's name ends with: "TPU v4"
  PowerBand idle, busy;     // of one chip, with its memory
  std::string_view source;

  // `share` 0..1: the time that it computed. Linear between idle and busy.
  PowerBand at(double share) const;
  // Nothing is known of how busy it was.
  PowerBand anywhere() const;
};

// `device`: as the meter names it ("4 x TPU v4"). Nothing where no power is published for it.
const AcceleratorPower* accelerator_power(std::string_view device);

}  // namespace joulery
