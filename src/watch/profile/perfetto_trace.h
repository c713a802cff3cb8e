// Reads Perfetto's protobuf traces: the track events (slices) of programs, not the kernel's.
//
// Names may be interned per packet sequence; a packet says whether it clears what came before. Times are of the boot
// clock unless a packet or a sequence's defaults name another; a clock snapshot tells what that is on the wall's.
#pragma once

#include <string_view>

#include "watch/profile/profile.h"
#include "watch/profile/trace_input.h"

namespace joulery {

// True where the file begins as a Trace does: a packet whose own first field is one of a packet.
bool is_perfetto(std::string_view start);

// Errors: format, with the byte; unsupported where the limits do not hold it; those of the input.
Result<Profile> read_perfetto(TraceInput& input);

}  // namespace joulery
