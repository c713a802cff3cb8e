// A small file that is written whole or not at all: beside its place first, then renamed over it.
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"

namespace joulery {

// The text of the file at `path`. `what` names it in errors: "the calibration". Errors: not_found, permission, io.
Result<std::string> read_whole_file(const std::string& path, std::string_view what, const std::string& hint);

// Folders on the way are made. Errors: permission, no_space, io.
Result<void> write_whole_file(const std::string& path, const std::string& text, std::string_view what);

}  // namespace joulery
