// A track as a row of pieces, each with the stack of events that were open: whose time each moment is. The innermost event
// of a piece is on top of the stack, so that the pieces of one event are the time that it took by itself.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "watch/profile/profile.h"

namespace joulery {

// Calls `visit(begin, end, stack)` for every stretch of the sealed `track` in which at least one event is open, in the order
// of time; `stack` is a span of const ProfileEvent*, outermost first. Stretches have a length above 0.
template <class Visit>
void visit_pieces(const ProfileTrack& track, Visit&& visit) {
  std::vector<const ProfileEvent*> open;
  std::int64_t at = 0;
  const auto close_until = [&](std::int64_t time) {
    while (!open.empty() && open.back()->end() <= time) {
      const std::int64_t end = open.back()->end();
      if (end > at) visit(at, end, std::span<const ProfileEvent* const>(open));
      at = end > at ? end : at;
      open.pop_back();
    }
  };
  for (const ProfileEvent& event : track.events) {
    close_until(event.begin);
    if (!open.empty() && event.begin > at) visit(at, event.begin, std::span<const ProfileEvent* const>(open));
    at = event.begin;
    open.push_back(&event);
  }
  if (!open.empty()) close_until(open.front()->end());
}

}  // namespace joulery
