// A profile's account as a table for a terminal and as JSON (docs/formats/profile.md).
#pragma once

#include <optional>
#include <string>

#include "ledger/profile/profile_account.h"
#include "publish/style.h"
#include "watch/profile/profile.h"

namespace joulery {

struct ToldProfile {
  std::string trace;                     // its path
  std::string recording;                 // "" where there is none
  const Profile& profile;
  const ProfileAccount& account;
  std::optional<TraceClock> clock;       // set where there is a recording
};

// The `rows` heaviest lines of each table; all of them where it is 0.
std::string profile_text(const ToldProfile& told, std::size_t rows, const TextStyle& style);
// Everything, schema joulery.profile/1.
std::string profile_json(const ToldProfile& told);

}  // namespace joulery
