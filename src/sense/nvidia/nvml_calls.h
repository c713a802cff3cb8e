// The readings of a GPU that have a function of their own in NVIDIA's library, and no field: utilisation, memory, clocks, why the
// clock is held; and energy and power of drivers that have no fields for them.
//
// Invariant: a call gives as many values as it has channels, in the same order.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "sense/nvidia/nvml_fields.h"

namespace joulery {

struct NvmlCall {
  static constexpr std::size_t most_values = 3;
  struct Value {
    std::string_view name;
    Measurand measurand;
    Behaviour behaviour;
    double unit;
  };
  std::array<Value, most_values> values;  // up to the first without a name
  NvmlReturn (*read)(const NvmlApi&, NvmlApi::Device, std::int64_t*);
  std::size_t count() const;
};

// Energy and power; to be read before the fields.
std::span<const NvmlCall> burning_calls();
// All the others. Of calls that begin with the same name the first that answers counts.
std::span<const NvmlCall> plain_calls();

// Reads one call into the sink. Returns what it answered.
NvmlReturn read_call(const NvmlCall& what, const NvmlApi& api, NvmlApi::Device device, Sink& sink);

}  // namespace joulery
