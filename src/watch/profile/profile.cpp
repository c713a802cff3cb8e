#include "watch/profile/profile.h"

#include <array>

namespace joulery {

std::string_view name_of(EventKind kind) {
  static constexpr std::array<std::string_view, event_kinds> names{"op",     "kernel", "copy", "runtime",    "sync",
                                                                   "python", "module", "step", "annotation", "overhead"};
  return names[static_cast<std::size_t>(kind)];
}

std::size_t Profile::event_count() const {
  std::size_t count = 0;
  for (const ProfileTrack& track : tracks) count += track.events.size();
  return count;
}

}  // namespace joulery
