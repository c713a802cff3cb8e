#include "ledger/profile/activity.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "ledger/profile/busy_sweep.h"
#include "ledger/profile/side_energy.h"

namespace joulery {
namespace {

class SideBuilder {
 public:
  SideBuilder(const Profile& profile, const OpNames& ops, ActivitySide& side, SideEnergy* energy)
      : profile_(&profile), ops_(&ops), side_(&side), energy_(energy) {}

  void build(std::span<const std::uint32_t> tracks) {
    at_ = profile_->begin;
    if (energy_) joules_ = energy_->joules_until(at_);
    sweep(*profile_, tracks, [&](std::int64_t begin, std::int64_t end, std::span<const Worker> workers) {
      idle_until(begin);
      work_until(end, workers);
    });
    idle_until(profile_->end);
    count_calls(tracks);
  }

 private:
  std::uint32_t cell_of(const CellKey& key) {
    const auto [found, added] = side_->numbers.try_emplace(key, static_cast<std::uint32_t>(side_->cells.size()));
    if (!added) return found->second;
    const auto [work, fresh] = works_.try_emplace({key.name, key.kind}, static_cast<std::uint32_t>(side_->works.size()));
    if (fresh) side_->works.push_back({key.name, key.kind, 0});
    side_->cells.push_back({work->second, key.op, key.layer, 0, 0, 0});
    return found->second;
  }

  void idle_until(std::int64_t time) {
    if (time <= at_) return;
    advance(time, [&](double, double joules) { side_->idle_joules += joules; });
  }

  void work_until(std::int64_t time, std::span<const Worker> workers) {
    if (time <= at_) return;
    cells_now_.clear();
    for (const Worker& worker : workers) cells_now_.push_back(cell_of(cell_key(*worker.event, worker.op, *ops_)));
    const double share = 1 / static_cast<double>(workers.size());
    advance(time, [&](double seconds, double joules) {
      side_->busy_seconds += seconds;
      for (const std::uint32_t number : cells_now_) {
        ActivityCell& cell = side_->cells[number];
        cell.seconds += seconds * share;
        cell.joules += joules * share;
        side_->works[cell.work].seconds += seconds * share;
      }
    });
  }

  // Goes to `time`: tells the stretch's seconds and joules.
  template <class Tell>
  void advance(std::int64_t time, Tell&& tell) {
    double joules = 0;
    if (energy_) {
      const double now = energy_->joules_until(time);
      joules = std::max(0.0, now - joules_);   // what two meters leave of each other may fall for a moment
      joules_ = now;
    }
    tell(static_cast<double>(time - at_) * 1e-9, joules);
    at_ = time;
  }

  void count_calls(std::span<const std::uint32_t> tracks) {
    for (const std::uint32_t track : tracks)
      for (const ProfileEvent& event : profile_->tracks[track].events) {
        if (on_device(event.kind) || event.kind == EventKind::op)
          ++side_->cells[cell_of(cell_key(event, on_device(event.kind) ? nullptr : &event, *ops_))].calls;
        else if (event.kind == EventKind::sync || event.kind == EventKind::runtime) {
          const auto found = side_->numbers.find(cell_key(event, nullptr, *ops_));
          if (found != side_->numbers.end()) ++side_->cells[found->second].calls;
        }
      }
  }

  const Profile* profile_;
  const OpNames* ops_;
  ActivitySide* side_;
  SideEnergy* energy_;
  std::map<std::pair<NameId, EventKind>, std::uint32_t> works_;
  std::vector<std::uint32_t> cells_now_;
  std::int64_t at_ = 0;
  double joules_ = 0;
};

}  // namespace

OpNames launching_ops(const Profile& profile) {
  std::unordered_set<std::uint32_t> wanted;
  for (const ProfileTrack& track : profile.tracks)
    if (track.kind == TrackKind::stream)
      for (const ProfileEvent& event : track.events) wanted.insert(event.external);
  wanted.erase(no_link);
  OpNames names;
  if (wanted.empty()) return names;
  for (const ProfileTrack& track : profile.tracks)
    if (track.kind == TrackKind::thread)
      for (const ProfileEvent& event : track.events)
        if (event.kind == EventKind::op && wanted.contains(event.external)) names.try_emplace(event.external, event.name);
  return names;
}

std::vector<std::uint32_t> tracks_of(const Profile& profile, int device) {
  std::vector<std::uint32_t> tracks;
  for (std::uint32_t i = 0; i < profile.tracks.size(); ++i) {
    const ProfileTrack& track = profile.tracks[i];
    if (device < 0 ? track.kind == TrackKind::thread : track.kind == TrackKind::stream && track.device == device) tracks.push_back(i);
  }
  return tracks;
}

std::vector<ActivitySide> activity_of(const Profile& profile, const std::optional<EnergyClock>& energy) {
  std::vector<ActivitySide> sides(1);
  std::vector<int> devices;
  for (const ProfileTrack& track : profile.tracks)
    if (track.kind == TrackKind::stream && std::ranges::find(devices, track.device) == devices.end()) devices.push_back(track.device);
  std::ranges::sort(devices);
  for (const int device : devices) sides.emplace_back().device = device;
  if (energy) give_rows(*energy->ledger, sides);
  const OpNames ops = launching_ops(profile);
  for (ActivitySide& side : sides) {
    std::optional<SideEnergy> meter;
    if (energy && !side.rows.empty()) meter.emplace(side.rows, *energy->clock, profile.begin);
    SideBuilder(profile, ops, side, meter ? &*meter : nullptr).build(tracks_of(profile, side.device));
  }
  return sides;
}

}  // namespace joulery
