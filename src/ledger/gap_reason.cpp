#include "ledger/gap_reason.h"

namespace joulery {

std::string gap_reason(const Row& row, Interval when) {
  if (row.track)
    for (const Gap& gap : row.track->gaps())
      if (gap.energy_lost && !intersect(gap.when, when).empty()) return gap.reason;
  return row.reason.empty() ? "not read in this interval" : row.reason;
}

}  // namespace joulery
