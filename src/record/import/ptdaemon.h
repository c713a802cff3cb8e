// SPEC PTDaemon's samples (spl.txt): Time,...,Watts,...,Mark,..., a wall meter's power about once a second.
#pragma once

#include "record/import/imported_log.h"

namespace joulery {

bool looks_like_ptdaemon(std::string_view text);

// Watts that are not above zero are rubbish; options.component names what the meter feeds, else the wall. Errors: format.
Result<ImportedLog> read_ptdaemon(std::string_view text, const ImportOptions& options);

}  // namespace joulery
