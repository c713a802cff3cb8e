// Somebody else's exporter as a meter: dcgm-exporter, Kepler, node_exporter, or one metric by name and label, scraped as text.
#pragma once

#include "config/settings.h"
#include "sense/meter.h"

namespace joulery {

// Sections with kind = "prometheus": url; metric, labels, unit, scale and resolution for a metric of the user's choice;
// component is "node" where it is not said, and what known exporters tell lies below it.
Discovery probe_prometheus(const Machine& machine, const Settings& settings);

}  // namespace joulery
