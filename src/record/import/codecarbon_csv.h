// CodeCarbon's emissions.csv: energy of CPU, GPU and RAM in kWh, a line for each run.
#pragma once

#include "record/import/imported_log.h"

namespace joulery {

bool looks_like_codecarbon_csv(std::string_view text);

// The last line counts. Zero is what CodeCarbon writes where it has nothing: it is no number. Errors: format.
Result<ImportedLog> read_codecarbon_csv(std::string_view text, const ImportOptions& options);

}  // namespace joulery
