// The board management controller of a node, or of another machine, by Redfish: what the whole chassis draws.
#pragma once

#include "config/settings.h"
#include "sense/meter.h"

namespace joulery {

// Sections with kind = "redfish": url (https) or host; user and password, login, ca_file or insecure; chassis, where the first
// with a power reading is not the one. component is "node" where it is not said.
Discovery probe_redfish(const Machine& machine, const Settings& settings);

}  // namespace joulery
