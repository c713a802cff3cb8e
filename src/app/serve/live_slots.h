// The energy of the last minutes in short stretches, as the meters tell it while they run: what requests that have just ended are
// given their joules from, before the recording is judged as a whole.
#pragma once

#include <optional>
#include <vector>

#include "app/live_window.h"
#include "factors/power_model.h"
#include "ledger/ledger.h"
#include "ledger/run_facts.h"
#include "ledger/serving/serving_shares.h"

namespace joulery {

class LiveSlots {
 public:
  // `facts`: of the run that is watched. `kept`: how far back it remembers.
  LiveSlots(const RunFacts& facts, Duration kept);

  // Takes what came since the last call.
  void advance(const LiveWindow& window, MonoTime begin);
  const std::vector<ServingSlot>& slots() const { return slots_; }
  std::optional<MonoTime> until() const { return slots_.empty() ? std::nullopt : std::optional(slots_.back().when.end); }
  Quality quality() const { return quality_; }
  double relative_error() const { return relative_error_; }
  // Mean power of what came with the last call; the least that any call saw.
  std::optional<double> watts() const { return watts_; }
  std::optional<double> least_watts() const { return least_; }

 private:
  std::optional<PowerModel> model_;
  Fill fill_;
  std::vector<MissingPart> missing_;
  int threads_;
  Duration kept_;
  std::vector<ServingSlot> slots_;
  Quality quality_ = Quality::missing;
  double relative_error_ = 0;
  std::optional<double> watts_, least_;
};

}  // namespace joulery
