// The one list of what limits power, and how people name a limit.
#pragma once

#include <string_view>
#include <vector>

#include "act/knob_file.h"
#include "act/power_knob.h"
#include "sense/agent/power_limit.h"
#include "sense/machine.h"

namespace joulery {

// Every power limit of the machine. `access`: read, where nobody may set one here: then nothing is opened for writing.
PowerKnobs find_power_knobs(const Machine& machine, KnobFile::Access access);

// "node/gpu/0=250W,node/cpu/package-0:short_term=90W". Errors: usage, naming the part that is wrong.
Result<std::vector<LimitRequest>> parse_limit_requests(std::string_view text);

// Why a machine has no limit at all, and what to do; for where the list is empty.
Error why_no_limits(const Machine& machine);

}  // namespace joulery
