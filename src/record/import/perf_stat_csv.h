// perf stat -x SEP -e power/energy-.../, with or without -I; a decimal comma where the locale has one.
#pragma once

#include "record/import/imported_log.h"

namespace joulery {

bool looks_like_perf_stat_csv(std::string_view text);

// Energy that perf did not count in an interval is lost. Errors: format.
Result<ImportedLog> read_perf_stat_csv(std::string_view text, const ImportOptions& options);

}  // namespace joulery
