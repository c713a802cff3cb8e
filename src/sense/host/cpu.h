// The processors' busy time and the memory in use, from /proc: they measure no joule, but they are what the estimate for a
// machine without sensors, the utilisation in logs and the idle share are made of.
#pragma once

#include "sense/meter.h"

namespace joulery {

// node/cpu: "busy" and "total", counters in ticks of 1/USER_HZ s; busy / total is the utilisation.
Discovery probe_cpu(const Machine& machine);

// node/dram: "used", a gauge in bytes, and "total", a constant.
Discovery probe_memory(const Machine& machine);

}  // namespace joulery
