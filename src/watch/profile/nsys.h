// Reads what `nsys export --type sqlite` writes. The tables are made lazily and differ between versions, so each is looked
// for, and each column; what a table needs and lacks makes it unread, and a note says so.
#pragma once

#include <string>
#include <string_view>

#include "watch/profile/profile.h"
#include "watch/profile/trace_input.h"

namespace joulery {

// True where the file begins as an SQLite database does.
bool is_sqlite(std::string_view start);

// Of a file by its path. Errors: format where it is damaged, or no database of nsys; unsupported beyond the limits.
Result<Profile> read_nsys(TraceInput& input);

}  // namespace joulery
