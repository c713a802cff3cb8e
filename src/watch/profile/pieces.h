// A track as a row of pieces, each with the stack of events that were open: whose time each moment is. The innermost event
// of a piece is on top of the stack, so that the pieces of one event are the time that it took by itself.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "watch/profile/profile.h"

namespace joulery {

// Goes over the pieces of a sealed track by time; each has a length above 0. The track outlives it, unchanged.
class PieceCursor {
 public:
  explicit PieceCursor(const ProfileTrack& track) : track_(&track) {}

  // The next piece; false behind the last.
  bool next() {
    for (;;) {
      const bool more = next_ < track_->events.size();
      if (open_.empty()) {
        if (!more) return false;
        enter();
        continue;
      }
      const std::int64_t upcoming = more ? track_->events[next_].begin : std::numeric_limits<std::int64_t>::max();
      const std::int64_t top_end = open_.back()->end();
      const std::int64_t border = top_end < upcoming ? top_end : upcoming;
      if (border > at_) {
        begin_ = at_;
        at_ = border;
        return true;
      }
      if (top_end <= at_)
        leave();
      else
        enter();
    }
  }
  std::int64_t begin() const { return begin_; }
  std::int64_t end() const { return at_; }
  // The open events, outermost first.
  std::span<const ProfileEvent* const> stack() const { return open_; }
  // The innermost event's place in the track.
  std::size_t top_index() const { return places_.back(); }

 private:
  void enter() {
    const ProfileEvent& event = track_->events[next_];
    places_.push_back(next_++);
    if (event.begin > at_) at_ = event.begin;
    open_.push_back(&event);
  }

  void leave() {
    open_.pop_back();
    places_.pop_back();
  }

  const ProfileTrack* track_;
  std::size_t next_ = 0;
  std::int64_t begin_ = 0, at_ = std::numeric_limits<std::int64_t>::min();
  std::vector<const ProfileEvent*> open_;
  std::vector<std::size_t> places_;   // of the open events
};

// Calls `visit(begin, end, stack)` for every piece of the sealed `track`.
template <class Visit>
void visit_pieces(const ProfileTrack& track, Visit&& visit) {
  for (PieceCursor pieces(track); pieces.next();) visit(pieces.begin(), pieces.end(), pieces.stack());
}

}  // namespace joulery
