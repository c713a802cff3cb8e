// Reads XLA's xplane.pb: what the profilers of TensorFlow, JAX and PyTorch/XLA write.
//
// It goes over the file twice: names stand behind the lines that use them, so the first pass reads names and leaves out
// lines, and the second reads the lines. Times are picoseconds since a line's own nanosecond; they are rounded to the
// nanosecond once, begin and end each, so that what touched still touches. A line's nanoseconds may count from the
// profile's start: then the plane "Task Environment" tells when that was.
#pragma once

#include <string_view>

#include "watch/profile/profile.h"
#include "watch/profile/trace_input.h"

namespace joulery {

// True where the file begins as an XSpace does.
bool is_xplane(std::string_view start);

// Errors: format, with the byte; unsupported where the limits do not hold it; those of the input.
Result<Profile> read_xplane(TraceInput& input);

}  // namespace joulery
