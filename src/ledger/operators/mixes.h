// The mix of kinds that each reading of a meter saw: the rows and columns of the equations.
//
// Invariant: every share is >= 0. Where nothing overlaps, a row's shares with its gap sum to 1.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "ledger/operators/activity.h"

namespace joulery {

struct Mixes {
  std::size_t kinds = 0;            // columns; the last is the gap or, where kinds overlap, the static power
  std::vector<double> shares;       // a row per reading, of kinds + 1: mean amount of each kind active during its window
  std::vector<double> watts;        // one per row
  std::vector<double> seconds;      // of each column over `when`: amount times time; the last: of the gap, or all of the time
  double gap_seconds = 0;           // of `when` in which nothing ran
  double busy_seconds = 0;          // of `when` in which anything ran
  bool overlapping = false;         // kinds ran at the same time for more than a hundredth of the busy time
  std::size_t rows() const { return watts.size(); }
  std::span<const double> row(std::size_t i) const { return std::span(shares).subspan(i * (kinds + 1), kinds + 1); }
};

// How much later the meter's time is than the activities'; it is subtracted from the readings' windows. `most`: the most that will be
// tried, |late| <= most: readings nearer than that to an end of the time are left out, so that every try has the same readings.
struct Delay {
  Duration late, most;
};

// `activities` by begin; `readings` by end of their window. Readings that do not lie within `when` are left out. `force_static`: the last
// column is the static power whether or not anything overlaps, as it must be for threads on cores.
Mixes mixes_of(std::size_t kinds, std::span<const Activity> activities, std::span<const PowerReading> readings, Interval when, Delay delay,
               bool force_static);

}  // namespace joulery
