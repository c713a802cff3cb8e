// sacct -P with JobID, Start, End and ConsumedEnergyRaw (joules) or ConsumedEnergy (with K, M, G).
#pragma once

#include "record/import/imported_log.h"

namespace joulery {

bool looks_like_slurm_sacct(std::string_view text);

// One job: options.job where the file holds several. Energies that cannot be (unset, underflow, beyond 10 kW a node) are no numbers. Errors: format.
Result<ImportedLog> read_slurm_sacct(std::string_view text, const ImportOptions& options);

}  // namespace joulery
