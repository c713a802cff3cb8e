// What a run has burnt so far, for the line that shows while it runs and for the program itself: the same timeline and ledger that
// judge the recording afterwards, over the last rounds only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
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

  // The sum over what is known, with what it lacks.
  struct Sum {
    std::optional<Estimate> energy;      // since the beginning, until `until`
    Quality quality = Quality::measured; // the worst so far; means nothing where there is no energy
    bool partial = false;                // something that burns is not in it
    std::int64_t holes = 0;              // calls for which a counted meter had not told everything
    std::optional<Power> power;          // since the last call that saw new readings
    MonoTime until;
    std::vector<std::string> missing;    // "node/dram: no DRAM domain on this CPU"
  };

  LiveEnergy(std::optional<PowerModel> model, Fill fill, std::vector<MissingPart> missing, int threads)
      : model_(std::move(model)), fill_(fill), missing_(std::move(missing)), threads_(threads) {}

  // Rounds that a window must keep so that two calls a second apart see all between them, at this interval.
  static std::size_t rounds_for(Duration interval);
  // `begin`: of the run. `window` has all rounds since the last call.
  Told since(MonoTime begin, const LiveWindow& window);
  const Sum& sum() const { return known_; }

 private:
  void add(const Ledger& ledger, Interval when, bool whole);

  std::optional<PowerModel> model_;
  Fill fill_;
  std::vector<MissingPart> missing_;
  int threads_;
  std::optional<MonoTime> until_;
  std::optional<Energy> sum_ = Energy{};
  Sum known_;
};

}  // namespace joulery
