// Where the instants of a regular grid fall among the times of readings: found once, for all tracks that share the times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/time.h"
#include "meter/track.h"

namespace joulery {

class TrackGrid {
 public:
  // `instants` of them from `begin` on, `step` (> 0) apart. `times`: increasing, those of the tracks that are asked later.
  TrackGrid(const std::vector<MonoTime>& times, MonoTime begin, Duration step, std::size_t instants);

  bool is_of(const Track& track) const { return track.times() == times_; }
  // Adds `sign` times the joules so far at each instant: what Track::position() says but for rounding. `sums`: one per instant.
  void add_joules(const Track& track, double sign, std::span<double> sums) const;

 private:
  struct Place {
    std::uint32_t last;  // the reading before, or the first
    double fraction;     // of the way to the one after; 0 outside of the readings
  };
  const std::vector<MonoTime>* times_;
  std::vector<Place> places_;
};

}  // namespace joulery
