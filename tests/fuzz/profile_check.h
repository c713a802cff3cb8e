// What must hold of a profile whatever bytes it came from; shared by the fuzz targets of its readers.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "watch/profile/pieces.h"
#include "watch/profile/profile.h"
#include "watch/profile/trace_input.h"

namespace joulery {

inline void require(bool condition) {
  if (!condition) std::abort();
}

inline void check_profile(const Profile& profile) {
  require(profile.begin <= profile.end);
  for (const ProfileTrack& track : profile.tracks) {
    for (const ProfileEvent& event : track.events) {
      require(event.duration >= 0);
      require(event.name < profile.names.size() && event.layer < profile.names.size());
    }
    std::int64_t until = INT64_MIN;
    visit_pieces(track, [&](std::int64_t begin, std::int64_t end, std::span<const ProfileEvent* const> stack) {
      require(begin >= until && end > begin && !stack.empty());
      until = end;
    });
  }
  for (const ProfileStep& step : profile.steps) require(step.begin <= step.end);
}

// Reads the bytes with little memory allowed, so that a lie about a size shows.
template <class Read>
void fuzz_reader(const std::uint8_t* data, std::size_t size, Read&& read) {
  ProfileLimits limits;
  limits.memory = 8 << 20;
  limits.window = 1 << 20;
  limits.unpacked_free = 4 << 20;
  TraceInput input = TraceInput::of_bytes({reinterpret_cast<const char*>(data), size}, "fuzz", limits);
  const auto profile = read(input);
  if (profile)
    check_profile(*profile);
  else
    require(!profile.error().what.empty());
}

}  // namespace joulery
