// Reads a profiler's trace of any known format, told by its content and not by its name.
#pragma once

#include <string>

#include "watch/profile/profile.h"
#include "watch/profile/trace_input.h"

namespace joulery {

// Errors: those of opening; unsupported for a format that nobody knows, with those that are; those of the format's reader.
Result<Profile> read_profile(const std::string& path, const ProfileLimits& limits = {});
// The same of an input; `path` is empty where it is not a file.
Result<Profile> read_profile(TraceInput& input);

}  // namespace joulery
