// What a run has burnt so far, for the line that shows while it runs: the same timeline and ledger that judge the recording
// afterwards, over the last rounds only.
#pragma once

#include <optional>
#include <vector>

#include "app/live_window.h"
#include "factors/power_model.h"
#include "ledger/ledger.h"

namespace joulery {

class LiveEnergy {
 public:
  struct Told {
    std::optional<Energy> energy;  // since the beginning; nothing once a part of it is not known
    std::optional<Power> power;    // since the last call
  };

  LiveEnergy(std::optional<PowerModel> model, Fill fill, std::vector<MissingPart> missing, int threads)
      : model_(std::move(model)), fill_(fill), missing_(std::move(missing)), threads_(threads) {}

  // Rounds that a window must keep so that two calls a second apart see all between them, at this interval.
  static std::size_t rounds_for(Duration interval);
  // `begin`: of the run. `window` has all rounds since the last call.
  Told since(MonoTime begin, const LiveWindow& window);

 private:
  std::optional<PowerModel> model_;
  Fill fill_;
  std::vector<MissingPart> missing_;
  int threads_;
  std::optional<MonoTime> until_;
  std::optional<Energy> sum_ = Energy{};
};

}  // namespace joulery
