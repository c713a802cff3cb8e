// Google TPUs: duty cycle and memory from the runtime's metrics service, which a program that uses the TPU runs within
// itself (gRPC on localhost:8431, or the ports of TPU_RUNTIME_METRICS_PORTS). Google publishes no power: what a chip burns
// is estimated elsewhere from how busy it was, and called so.
//
// The chips are known from the PCI bus before any program runs; until one does, their readings are missing. Each chip is
// node/gpu/tpu-N.
#pragma once

#include "config/settings.h"
#include "sense/meter.h"

namespace joulery {

// Settings: tpu.ports ("8431,8432"; default the environment's, else 8431), tpu.timeout (default 1s).
Discovery probe_tpu(const Machine& machine, const Settings& settings);

}  // namespace joulery
