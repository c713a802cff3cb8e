// Reads Chrome's trace-event JSON: what PyTorch's Kineto writes, TensorFlow's and JAX's trace.json, and what any tool
// writes for chrome://tracing or Perfetto.
//
// Times are read digit by digit into whole nanoseconds: they have up to 19 digits, and a double has 16. With
// "baseTimeNanoseconds" they count from there, wherever in the file it stands; without it they are the wall clock's where
// they are large enough to be.
#pragma once

#include "watch/profile/profile.h"
#include "watch/profile/trace_input.h"

namespace joulery {

// True where the file begins as JSON does.
bool is_json_trace(std::string_view start);

// Errors: format, with the byte; unsupported where the limits do not hold it; those of the input.
Result<Profile> read_kineto(TraceInput& input);

}  // namespace joulery
