// How a figure is known, and the interval in which the truth lies with 90 % probability.
// A missing value is never a number: it has a reason and no energy.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/quantity.h"

namespace joulery {

// From best to worst; a sum has the worst of its parts.
enum class Quality : std::uint8_t { measured, integrated, derived, estimated, missing };

constexpr std::string_view name_of(Quality q) {
  constexpr std::string_view names[] = {"measured", "integrated", "derived", "estimated", "missing"};
  return names[static_cast<unsigned>(q)];
}

constexpr Quality worst(Quality a, Quality b) { return a > b ? a : b; }

// A best value with the 90 % interval around it; low <= value <= high.
struct Estimate {
  Energy value, low, high;
  friend constexpr bool operator==(Estimate, Estimate) = default;
};

}  // namespace joulery
