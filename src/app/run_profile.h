// `joulery run --profile DIR`: names a folder to the command for its profiler's trace, and tells the trace that it left there.
#pragma once

#include <string>

#include "core/result.h"
#include "core/time.h"
#include "publish/style.h"

namespace joulery {

// The variable that names the folder to the command.
inline constexpr const char* profile_variable = "JOULERY_PROFILE";

// Makes the folder where it is not there, and names it in this process' environment, which the command inherits. Gives
// its absolute path. Errors: io, permission.
Result<std::string> offer_profile_folder(const std::string& folder);

// The newest trace below `folder` that was written since `begin`, told with the recording's joules. Errors: not_found where
// the command wrote none; those of ProfiledRun.
Result<std::string> told_profile(const std::string& folder, const std::string& recording, WallTime begin, const TextStyle& style);

}  // namespace joulery
