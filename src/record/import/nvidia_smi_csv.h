// nvidia-smi --query-gpu=timestamp,... --format=csv[,nounits] -l: one line per card and moment under a header.
#pragma once

#include "record/import/imported_log.h"

namespace joulery {

bool looks_like_nvidia_smi_csv(std::string_view text);

// Cards are told apart by uuid, pci.bus_id or index; a log with none of these columns is one card's. Errors: format.
Result<ImportedLog> read_nvidia_smi_csv(std::string_view text, const ImportOptions& options);

}  // namespace joulery
