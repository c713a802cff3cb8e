// How long each operator, kernel and layer was at work, and what the meter told meanwhile: what the share of time is.
//
// Invariant: the seconds of a side's cells and its idle time sum to the profile's length.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ledger/ledger.h"
#include "ledger/profile/cell_key.h"
#include "ledger/profile/trace_clock.h"
#include "watch/profile/profile.h"

namespace joulery {

// One kind of work in one layer, for one operator: the finest that is told apart.
struct ActivityCell {
  std::uint32_t work = 0;              // its number in ActivitySide::works
  NameId op = 0;                       // the operator that it is part of; 0: of none
  NameId layer = 0;
  std::int64_t calls = 0;
  double seconds = 0;
  double joules = 0;                   // its share of the moments' energy by time; 0 without a meter
};

// What the fit tells apart: an operator on the host, a kernel on a device.
struct ActivityWork {
  NameId name = 0;
  EventKind kind = EventKind::op;
  double seconds = 0;
};

struct ActivitySide {
  int device = -1;                     // -1: the host
  std::vector<const Row*> rows;        // of the ledger, that this side pays for
  std::vector<ActivityWork> works;
  std::vector<ActivityCell> cells;
  CellNumbers numbers;                 // of the cells
  double busy_seconds = 0;
  double idle_joules = 0;              // by time, of the moments in which nothing worked
};

struct EnergyClock {
  const Ledger* ledger = nullptr;
  const TraceClock* clock = nullptr;
};

// The tracks that work for a side: the host's threads (device -1), or a device's streams.
std::vector<std::uint32_t> tracks_of(const Profile& profile, int device);

// The host first, then each device that the trace has streams of. `energy` is empty where there is no recording.
std::vector<ActivitySide> activity_of(const Profile& profile, const std::optional<EnergyClock>& energy);

}  // namespace joulery
