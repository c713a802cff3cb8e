#include "meter/track_grid.h"

#include <algorithm>

namespace joulery {

TrackGrid::TrackGrid(const std::vector<MonoTime>& times, MonoTime begin, Duration step, std::size_t instants) : times_(&times) {
  if (times.empty()) return;
  places_.reserve(instants);
  auto next = static_cast<std::size_t>(std::upper_bound(times.begin(), times.end(), begin) - times.begin());
  MonoTime at = begin;
  for (std::size_t i = 0; i < instants; ++i, at = at + step) {
    while (next < times.size() && times[next] <= at) ++next;
    const std::size_t last = next == 0 ? 0 : next - 1;
    const bool within = next > 0 && next < times.size();
    places_.push_back({static_cast<std::uint32_t>(last), within ? (at - times[last]) / (times[next] - times[last]) : 0.0});
  }
}

void TrackGrid::add_joules(const Track& track, double sign, std::span<double> sums) const {
  const std::span<const std::int64_t> counts = track.counts();
  if (counts.empty()) return;
  const double unit = sign * track.unit();
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const Place& place = places_[i];
    const auto step = static_cast<double>(counts[place.last + (place.fraction > 0 ? 1 : 0)] - counts[place.last]);
    sums[i] += (static_cast<double>(counts[place.last]) + step * place.fraction) * unit;
  }
}

}  // namespace joulery
