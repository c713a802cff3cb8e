// A process that uses a device, as the device itself tells it: what sharing a GPU's energy out among processes needs.
#pragma once

#include <cstdint>
#include <optional>

#include "core/component.h"

namespace joulery {

struct DeviceProcess {
  std::int64_t pid = 0;                // as the host numbers it, whatever container it runs in
  Component component;                 // the device or the slice of it: "node/gpu/0", "node/gpu/0/mig-3"
  std::optional<std::int64_t> memory;  // bytes of the device's memory
  // Shares 0..1 of the device that it kept busy since it was last asked for; empty where the device does not tell.
  std::optional<double> busy, memory_busy, encoder, decoder;
};

}  // namespace joulery
