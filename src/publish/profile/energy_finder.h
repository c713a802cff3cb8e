// What a copy of a trace says beside each event: its joules, found by where the event is in the profile.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "ledger/profile/event_energy.h"
#include "ledger/profile/profile_account.h"
#include "watch/profile/profile.h"

namespace joulery {

// Energy beside one event, joules.
struct EventJoules {
  double whole = 0;      // of all that ran inside it; of steps and ranges: of all that is counted, while they lasted
  double own = 0;        // of itself alone; 0 of steps and ranges, whose energy is that of what runs in them
  bool range = false;    // a step or a range
  bool on_device = false;
  std::string_view together;   // with what its power could not be told apart; "" where it was
};

class EnergyFinder {
 public:
  // All outlive it, `account` too; `source` may be null: then nothing is ever found.
  EnergyFinder(const Profile& profile, const ProfileAccount& account, const ProfileEnergySource* source);

  // The event of `track` that begins at `begin` (of the profile's clock) and has this name. Nothing where nobody pays for it.
  std::optional<EventJoules> find(std::uint32_t track, std::int64_t begin, std::int64_t duration, std::string_view name) const;
  const Profile& profile() const { return *profile_; }
  const ProfileEnergySource* source() const { return source_; }

 private:
  const Profile* profile_;
  const ProfileEnergySource* source_;
  EventEnergy energy_;
  std::map<std::pair<int, std::string_view>, std::string_view> together_;  // of device (-1: the host) and name
};

}  // namespace joulery
