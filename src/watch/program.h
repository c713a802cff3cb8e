// Finds the file that a command names, as a shell would, so that a command that cannot start is known before
// anything is measured.
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"

namespace joulery {

// `name` with a slash is taken as it is; else the directories of `search_path` (PATH's form: an empty part is the
// current directory) are tried in order for an executable regular file.
// Errors: not_found (a shell's 127), permission (126: a directory, or not executable).
Result<std::string> find_program(std::string_view name, std::string_view search_path);

// PATH of this process, or the system's own default where it is not set.
std::string search_path_of_environment();

// What a shell exits with when a command could not be started: 127, 126; 125 where the fault is joulery's own.
int exit_code_of_start_failure(const Error& error);

}  // namespace joulery
