// Each event's own joules: what the trace's copy says beside the event.
#pragma once

#include <cstdint>
#include <vector>

#include "ledger/profile/activity.h"
#include "watch/profile/profile.h"

namespace joulery {

// By the track's number and the event's place in it; empty for tracks that nobody pays for.
struct EventEnergy {
  std::vector<std::vector<double>> own;     // J, by itself
  std::vector<std::vector<double>> whole;   // J, with all events inside it on its track
};

// `joules`: of each side's cells, as the account gives them. Each event gets its cell's joules by its share of the cell's time.
EventEnergy event_energy(const Profile& profile, const std::vector<ActivitySide>& sides, const std::vector<std::vector<double>>& joules);

}  // namespace joulery
