// Wall meters and plugs that tell power or energy as JSON over HTTP: Tasmota, Shelly, and whatever has an address and a JSON
// pointer.
#pragma once

#include "config/settings.h"
#include "sense/meter.h"

namespace joulery {

// Sections with kind = "http-json": url and pointer; unit, scale, resolution; component is "wall" where it is not said.
// "{password}" in a url stands for the password, for devices that want it there.
Discovery probe_http_json(const Machine& machine, const Settings& settings);

}  // namespace joulery
