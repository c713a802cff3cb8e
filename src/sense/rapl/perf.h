// RAPL through perf's `power` events: the same counters as powercap, for users who hold CAP_PERFMON instead of the right
// to read powercap's files, and on AMD the energy of every core.
#pragma once

#include <vector>

#include "sense/meter.h"

namespace joulery {

Discovery probe_perf(const Machine& machine);

// A meter over open counters: `descriptors[i]` gives the 8-byte count of `channels[i]` at each read. Takes the
// descriptors over and closes them.
std::unique_ptr<Meter> make_perf_meter(std::vector<Channel> channels, std::vector<int> descriptors);

}  // namespace joulery
