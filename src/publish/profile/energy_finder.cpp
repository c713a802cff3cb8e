#include "publish/profile/energy_finder.h"

#include <algorithm>

namespace joulery {

EnergyFinder::EnergyFinder(const Profile& profile, const ProfileAccount& account, const ProfileEnergySource* source)
    : profile_(&profile), source_(account.energy ? source : nullptr) {
  if (!source_) return;
  energy_ = event_energy(profile, account.activity, account.cell_joules);
  for (std::size_t side = 0; side < account.merged_works.size(); ++side)
    for (std::size_t work = 0; work < account.merged_works[side].size(); ++work)
      if (!account.merged_works[side][work].empty())
        together_[{account.activity[side].device, profile.name(account.activity[side].works[work].name)}] =
            account.merged_works[side][work];
}

std::optional<EventJoules> EnergyFinder::find(std::uint32_t track, std::int64_t begin, std::int64_t duration, std::string_view name) const {
  if (!source_ || track >= profile_->tracks.size()) return std::nullopt;
  const ProfileTrack& lane = profile_->tracks[track];
  auto event = std::ranges::lower_bound(lane.events, begin, {}, &ProfileEvent::begin);
  for (; event != lane.events.end() && event->begin == begin; ++event) {
    if (profile_->name(event->name) != name) continue;
    if (energy_.own[track].empty()) break;
    const auto place = static_cast<std::size_t>(event - lane.events.begin());
    const bool on_device = lane.kind == TrackKind::stream;
    const auto together = together_.find({on_device ? lane.device : -1, name});
    return EventJoules{energy_.whole[track][place], energy_.own[track][place], false, on_device,
                       together == together_.end() ? std::string_view() : together->second};
  }
  if (duration <= 0) return std::nullopt;
  // Steps and ranges were put aside, and summaries are paid for by nobody: what was burnt meanwhile is still theirs to tell.
  return EventJoules{
      to_joules(source_->ledger.counted({source_->clock.at(begin), source_->clock.at(begin + duration)})), 0, true, false, {}};
}

}  // namespace joulery
