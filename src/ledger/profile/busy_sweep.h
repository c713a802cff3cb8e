// Who was at work at each moment, over all threads of a host or all streams of a device together: the pieces of many tracks
// as one row of moments.
//
// Where several tracks are at work at once, those that count are those that do the most telling thing: an operator before
// the framework's and the interpreter's own code around it, and both before a wait.
//
// Invariant: moments are by time and disjoint; the time between them belongs to nobody.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "watch/profile/pieces.h"
#include "watch/profile/profile.h"

namespace joulery {

// What a track does in a moment.
struct Worker {
  std::uint32_t track = 0;                          // its number in the profile
  std::size_t index = 0;                            // the innermost event's place in the track
  const ProfileEvent* event = nullptr;              // the innermost
  const ProfileEvent* op = nullptr;                 // the innermost operator around it; null where there is none
};

// Calls `visit(begin, end, workers)` for each moment in which at least one of `tracks` is at work; at least one worker.
void sweep(const Profile& profile, std::span<const std::uint32_t> tracks,
           const std::function<void(std::int64_t, std::int64_t, std::span<const Worker>)>& visit);

}  // namespace joulery
