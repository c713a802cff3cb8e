#include "ledger/profile/event_energy.h"

#include "ledger/profile/busy_sweep.h"
#include "ledger/profile/cell_key.h"

namespace joulery {
namespace {

// Adds what events hold to those around them.
std::vector<double> with_inside(const ProfileTrack& track, const std::vector<double>& own) {
  std::vector<double> whole = own;
  std::vector<std::size_t> open;
  const auto close = [&] {
    const std::size_t inner = open.back();
    open.pop_back();
    if (!open.empty()) whole[open.back()] += whole[inner];
  };
  for (std::size_t i = 0; i < track.events.size(); ++i) {
    while (!open.empty() && track.events[open.back()].end() <= track.events[i].begin) close();
    open.push_back(i);
  }
  while (!open.empty()) close();
  return whole;
}

}  // namespace

EventEnergy event_energy(const Profile& profile, const std::vector<ActivitySide>& sides, const std::vector<std::vector<double>>& joules) {
  EventEnergy energy;
  energy.own.resize(profile.tracks.size());
  energy.whole.resize(profile.tracks.size());
  const OpNames ops = launching_ops(profile);
  for (std::size_t s = 0; s < sides.size(); ++s) {
    const ActivitySide& side = sides[s];
    if (joules[s].empty()) continue;
    const std::vector<std::uint32_t> tracks = tracks_of(profile, side.device);
    for (const std::uint32_t track : tracks) energy.own[track].resize(profile.tracks[track].events.size());
    sweep(profile, tracks, [&](std::int64_t begin, std::int64_t end, std::span<const Worker> workers) {
      const double seconds = static_cast<double>(end - begin) * 1e-9 / static_cast<double>(workers.size());
      for (const Worker& worker : workers) {
        const auto cell = side.numbers.find(cell_key(*worker.event, worker.op, ops));
        if (cell == side.numbers.end() || side.cells[cell->second].seconds <= 0) continue;
        energy.own[worker.track][worker.index] += joules[s][cell->second] * seconds / side.cells[cell->second].seconds;
      }
    });
    for (const std::uint32_t track : tracks) energy.whole[track] = with_inside(profile.tracks[track], energy.own[track]);
  }
  return energy;
}

}  // namespace joulery
