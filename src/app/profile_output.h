// Writes the copy of a trace with its energy: to a file beside it first, which takes the name only when it is whole.
#pragma once

#include <string>

#include "app/profiled_run.h"
#include "core/result.h"

namespace joulery {

// `out`: a name ending in .pb gives an xplane.pb, any other Chrome's JSON, packed where it ends in .gz. Errors: usage where
// the trace cannot become that, or where it is the trace itself; those of reading and writing.
Result<void> write_profile_copy(const ProfiledRun& run, const std::string& out);

}  // namespace joulery
