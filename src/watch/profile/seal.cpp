#include "watch/profile/seal.h"

#include <algorithm>
#include <limits>
#include <string>

#include "watch/profile/layers.h"

namespace joulery {
namespace {

// A lambda and no function: the sorting calls it inline.
constexpr auto earlier = [](const ProfileEvent& a, const ProfileEvent& b) {
  return a.begin != b.begin ? a.begin < b.begin : a.duration > b.duration;
};

// Lets the events of a track nest. Profilers round begin and duration by themselves, so a child may seem to end a
// nanosecond after its parent, and is cut. An annotation that begins in one function and ends after it belongs to no
// stack: it goes to `aside`. What else overlaps (operators of streams that share a row) is cut, and counted.
std::int64_t nest(ProfileTrack& track, std::deque<ProfileEvent>& aside) {
  std::vector<std::int64_t> ends;   // of the events that are open
  std::int64_t cut = 0;
  constexpr std::int64_t rounding_ns = 1000;
  std::erase_if(track.events, [&](ProfileEvent& event) {
    while (!ends.empty() && ends.back() <= event.begin) ends.pop_back();
    if (!ends.empty() && event.end() > ends.back()) {
      const bool rounding = event.end() - ends.back() <= rounding_ns;
      if (!rounding && event.kind == EventKind::annotation) {
        aside.push_back(event);
        return true;
      }
      if (!rounding) ++cut;
      event.duration = ends.back() - event.begin;
    }
    ends.push_back(event.end());
    return false;
  });
  return cut;
}

// Steps are told apart from what runs in them: they begin inside one function and end inside another.
void move_steps(ProfileTrack& track, std::deque<ProfileEvent>& aside) {
  std::erase_if(track.events, [&](const ProfileEvent& event) {
    if (event.kind == EventKind::step) aside.push_back(event);
    return event.kind == EventKind::step;
  });
}

void arrange(Profile& profile, std::size_t index) {
  ProfileTrack& track = profile.tracks[index];
  std::deque<ProfileEvent> aside;
  if (track.kind != TrackKind::summary) move_steps(track, aside);
  if (!std::ranges::is_sorted(track.events, earlier)) std::ranges::sort(track.events, earlier);
  profile.cut += nest(track, aside);
  // Cutting may have shortened an event below one that begins with it.
  if (!std::ranges::is_sorted(track.events, earlier)) std::ranges::sort(track.events, earlier);
  if (aside.empty()) return;
  std::ranges::sort(aside, earlier);
  ProfileTrack apart{TrackKind::summary, track.name + ": steps and ranges", track.process, track.thread, track.device, std::move(aside)};
  profile.tracks.push_back(std::move(apart));   // `track` is not valid any more
}

void collect_steps(const ProfileTrack& track, std::vector<ProfileStep>& steps) {
  for (const ProfileEvent& event : track.events) {
    if (event.kind != EventKind::step || event.duration == 0) continue;
    const std::int64_t number = event.correlation != no_link ? static_cast<std::int64_t>(event.correlation) - 1 : -1;
    steps.push_back({event.begin, event.end(), number, event.name});
  }
}

// One entry per run of a step: those of the host; those of the devices only where the host tells none.
void find_steps(Profile& profile) {
  std::vector<ProfileStep> all;
  for (const ProfileTrack& track : profile.tracks)
    if (track.device < 0) collect_steps(track, all);
  if (all.empty())
    for (const ProfileTrack& track : profile.tracks) collect_steps(track, all);
  std::ranges::stable_sort(
      all, [](const ProfileStep& a, const ProfileStep& b) { return a.begin != b.begin ? a.begin < b.begin : a.end > b.end; });
  for (const ProfileStep& step : all) {
    const bool again =
        std::ranges::any_of(profile.steps.rbegin(), profile.steps.rbegin() + std::min<std::ptrdiff_t>(16, std::ssize(profile.steps)),
                            [&](const ProfileStep& seen) { return seen.number == step.number && step.begin < seen.end; });
    if (!again) profile.steps.push_back(step);
  }
}

void find_ends(Profile& profile) {
  std::int64_t begin = std::numeric_limits<std::int64_t>::max(), end = std::numeric_limits<std::int64_t>::min();
  for (const ProfileTrack& track : profile.tracks) {
    if (track.kind == TrackKind::summary || track.events.empty()) continue;
    begin = std::min(begin, track.events.front().begin);
    for (const ProfileEvent& event : track.events) end = std::max(end, event.end());
  }
  for (const ProfileStep& step : profile.steps) {
    begin = std::min(begin, step.begin);
    end = std::max(end, step.end);
  }
  if (begin > end) begin = end = 0;
  profile.begin = begin;
  profile.end = end;
}

}  // namespace

void seal(Profile& profile) {
  const std::size_t tracks = profile.tracks.size();
  for (std::size_t i = 0; i < tracks; ++i) arrange(profile, i);
  if (profile.cut > 0)
    profile.notes.push_back(std::to_string(profile.cut) + " events overlap others of their track without being inside them, and were cut");
  find_steps(profile);
  find_layers(profile);
  find_ends(profile);
}

}  // namespace joulery
