// The delay of a meter of a recording against the meters of the parts inside it. Pure.
#pragma once

#include <span>

#include "judge/delay.h"
#include "ledger/ledger.h"

namespace joulery {

// Compares the liveliest few thousand steps of `run`. Delays of up to 20 s, or a fifth of the run, are looked for.
DelayEstimate meter_delay(std::span<const Row* const> reference, const Row& meter, Interval run);

}  // namespace joulery
