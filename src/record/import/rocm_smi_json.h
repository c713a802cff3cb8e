// rocm-smi --json, one object or many after each other; it holds no times.
#pragma once

#include "record/import/imported_log.h"

namespace joulery {

bool looks_like_rocm_smi_json(std::string_view text);

// A second die's power is in its sibling's. Several snapshots need options.interval. Errors: format.
Result<ImportedLog> read_rocm_smi_json(std::string_view text, const ImportOptions& options);

}  // namespace joulery
