// Opens a recording's database to read it, and checks that it is one.
#pragma once

#include <string>

#include "record/database.h"

namespace joulery {

// Errors as Recording::open.
Result<Database> open_recording_database(const std::string& path);

}  // namespace joulery
