// The devices of one host from all of its recordings: what several have read is one device, read by one after the other. So a
// counter is followed over the whole time, and never twice at a time.
#pragma once

#include <vector>

#include "ledger/merge/merge_plan.h"

namespace joulery {

// Rounds of a device of one recording: from the `from`-th on.
struct SplicedPiece {
  std::size_t input = 0, device = 0, from = 0;
};

struct SplicedDevice {
  RecordedDevice recorded;
  std::vector<SplicedPiece> pieces;  // by time, disjoint
};

// A device that cannot be read whole is left to write_job() to complain of.
std::vector<SplicedDevice> splice_devices(const std::vector<MergeInput>& inputs, const PlannedHost& host);

}  // namespace joulery
