// AWS Inferentia and Trainium through neuron-monitor, which is run beside us and streams a report each second: how busy
// the cores of each device are, and its memory. It tells no power. Each device is node/gpu/neuron-N.
#pragma once

#include "config/settings.h"
#include "sense/meter.h"

namespace joulery {

// Looks for the program only where the kernel shows a Neuron device. Settings: neuron.command (default neuron-monitor with
// a configuration of ours, from the PATH or from AWS's own folder), neuron.timeout (default 2s: how long the first report
// may take).
Discovery probe_neuron(const Machine& machine, const Settings& settings);

}  // namespace joulery
