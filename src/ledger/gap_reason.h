// Why a row of the ledger has no whole figure for an interval, for who tells of many short ones: the log, top, the agent.
#pragma once

#include <string>

#include "core/time.h"
#include "ledger/ledger.h"

namespace joulery {

// That of the gap in its track that took energy from the interval, else the row's own; never empty.
std::string gap_reason(const Row& row, Interval when);

}  // namespace joulery
