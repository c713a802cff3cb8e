// nvidia-smi -q -x, one document or many after each other (-l, or a loop that appends).
#pragma once

#include "record/import/imported_log.h"

namespace joulery {

bool looks_like_nvidia_smi_xml(std::string_view text);

// MIG slices have no power of their own and are left out; the power of a module with a CPU is shown apart. Errors: format.
Result<ImportedLog> read_nvidia_smi_xml(std::string_view text, const ImportOptions& options);

}  // namespace joulery
