// How much of an accelerator each process used: the weights by which its dynamic energy is shared.
//
// In order: what the device says each kept busy; else the memory that each holds; else all alike. A GPU used by one process alone
// needs no weights at all. Slices of a partitioned GPU (MIG) are weighed by how busy each slice was, where the device tells
// that (GPM), and within a slice as above.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/component.h"
#include "sense/device_process.h"

namespace joulery {

enum class UseMethod : std::uint8_t { nobody, alone, busy, memory, alike };

constexpr std::string_view describe(UseMethod method) {
  constexpr std::string_view texts[] = {"used by nobody", "used by one process", "by how busy each kept it",
                                        "by the memory that each holds", "in equal parts: the device tells no use"};
  return texts[static_cast<unsigned>(method)];
}

struct AcceleratorUse {
  std::map<std::int64_t, double> weights;  // by pid; comparable within this accelerator
  UseMethod method = UseMethod::nobody;    // the worst of those used
};

// `users`: as devices told; those of other accelerators are left out. `busy`: mean utilisation 0..1 of slices, by component path.
AcceleratorUse accelerator_use(const Component& accelerator, std::span<const DeviceProcess> users,
                               const std::map<std::string, double>& busy);

}  // namespace joulery
