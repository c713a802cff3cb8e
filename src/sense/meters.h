// The one list of meters.
#pragma once

#include <span>
#include <string_view>

#include "config/settings.h"
#include "sense/meter.h"

namespace joulery {

struct MeterKind {
  std::string_view name;
  Discovery (*probe)(const Machine&, const Settings&);
  bool remote = false;  // asks devices over a network: looked for while the others are
};

// In order of preference: where two kinds measure the same component, the earlier one counts.
std::span<const MeterKind> meter_kinds();

// How long may be looked: `thorough` takes 50 ms more where two ways lead to one counter, to see whether they agree.
enum class Look { quick, thorough };

// Everything that this machine has, less devices whose every component a fast device of an earlier kind already gives.
Discovery discover(const Machine& machine, const Settings& settings, Look look);

}  // namespace joulery
