// Wall meters and plugs that publish by MQTT: kind "mqtt", for each [meters.NAME] of it.
#pragma once

#include "config/settings.h"
#include "sense/meter.h"

namespace joulery {

// Sections with kind = "mqtt": host of the broker, topic and pointer; unit, scale, resolution; component is "wall" where it is
// not said. The last message counts for max_age, which must be longer than the device's own pause between messages.
Discovery probe_mqtt(const Machine& machine, const Settings& settings);

}  // namespace joulery
