// The energy events of perf's `power` and `power_core` units, as sysfs describes them: which event to open on which
// CPU, what it burns in, and what one count is worth. Nothing is opened here, so a recorded tree shows the same.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sense/channel.h"
#include "sense/machine.h"

namespace joulery {

struct PerfEvent {
  std::uint32_t type = 0;    // of perf_event_attr
  std::uint64_t config = 0;
  int cpu = 0;               // the counter of this CPU's package, or of its core
  Channel channel;           // counts never wrap: the kernel widens them to 64 bits
};

// Every energy event of every package, and (AMD) of every core: one channel a core, whose sum is the package's cores.
std::vector<PerfEvent> read_perf_events(const Machine& machine);

// "0-3,8" -> {0, 1, 2, 3, 8}; what is no list is empty.
std::vector<int> parse_cpu_list(std::string_view text);

// "event=0x02" -> 2; the bits of other terms ("umask=0x1" at bit 8) are placed as the x86 format says.
std::uint64_t parse_event_config(std::string_view text);

}  // namespace joulery
