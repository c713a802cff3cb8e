// Environment variables as a layer of the settings, by rule: JOULERY_ and the key in capitals, '_' for '.' and '-':
// JOULERY_CARBON_PLACE is carbon.place, JOULERY_METERS_RACK_PDU_HOST is meters.rack-pdu.host. A meter that a file names is
// found under any spelling of its name; one that no file names is called by lower case and '-'.
#pragma once

#include <span>
#include <string>
#include <utility>

#include "config/settings.h"
#include "core/result.h"

namespace joulery {

// Adds every variable that names a key; others that begin with JOULERY_ are other programs' business, unless they begin with a
// section's name: then they are misspelt. `files` holds the names that are known. Errors: usage, naming the variable, never
// its value.
Result<void> add_environment(std::span<const std::pair<std::string, std::string>> variables, const Settings& files, Settings& layer);

}  // namespace joulery
