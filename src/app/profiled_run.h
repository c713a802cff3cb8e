// A profiler's trace and the recording of the same run, joined: what `joulery profile` tells and writes.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "app/loaded_run.h"
#include "ledger/profile/profile_account.h"
#include "publish/profile/profile_text.h"
#include "watch/profile/profile.h"

namespace joulery {

struct ProfileRequest {
  std::string trace;         // a file, or a folder that holds one (the newest of several is taken)
  std::string recording;     // "" : time alone
  std::string clock = "auto";
};

// `path` itself, or the newest trace below it where it is a folder. Errors: not_found where there is none in it.
Result<std::string> newest_trace(const std::string& path);

class ProfiledRun {
 public:
  // Errors: usage for a clock that does not exist or two things of different times; those of the readers and of Recording.
  static Result<ProfiledRun> load(const ProfileRequest& request);

  const Profile& profile() const { return *profile_; }
  const ProfileAccount& account() const { return account_; }
  const std::optional<TraceClock>& clock() const { return clock_; }
  const LoadedRun* run() const { return run_ ? &*run_ : nullptr; }
  // Null where there is no recording.
  const ProfileEnergySource* source() const { return source_ ? &*source_ : nullptr; }
  const std::string& trace() const { return trace_; }
  ToldProfile told() const { return {trace_, recording_, *profile_, account_, clock_}; }

 private:
  ProfiledRun() = default;
  Result<void> join(const std::string& clock);

  std::string trace_, recording_;
  std::unique_ptr<Profile> profile_;
  std::unique_ptr<Recording> opened_;
  std::unique_ptr<LoadedRun> run_;
  std::optional<TraceClock> clock_;
  std::optional<ProfileEnergySource> source_;
  ProfileAccount account_;
};

}  // namespace joulery
