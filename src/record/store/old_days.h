// What becomes of days that are over: those that a stopped agent left open are finished, and old ones lose their fine
// levels, one file at a time so that no flush waits long.
//
// Invariant: nothing is given up by a clock that has just jumped: hours go only after keep_hours, and finer levels only
// while the wall clock has run without a jump for an hour, or fits the newest file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "record/store/fold.h"
#include "record/store/store.h"

namespace joulery {

class OldDays {
 public:
  OldDays(std::string folder, const StoreSettings& settings) : folder_(std::move(folder)), settings_(settings) {}

  // A row was written: follows the wall clock.
  void saw(std::int64_t begin_ms, std::int64_t length_ms);
  // Looks at one old file, if there is one to look at; what was lost in it (tails that could not be read).
  // Errors: format (the file is damaged; the day is in `failed_day`), no_space, io.
  Result<std::int64_t> tidy_one(std::int64_t open_day, StoreTools& tools);
  std::int64_t failed_day() const { return failed_day_; }

 private:
  void plan(std::int64_t open_day);
  Result<std::int64_t> tidy(std::int64_t day, StoreTools& tools);
  Result<std::int64_t> finish(const std::string& path, StoreTools& tools);
  bool expired(std::int64_t day, Duration keep) const;

  std::string folder_;
  const StoreSettings& settings_;
  std::vector<std::int64_t> waiting_;  // days to look at
  std::int64_t newest_ms_ = 0, end_ms_ = -1, planned_hour_ = -1, steady_ms_ = 0, failed_day_ = 0;
  bool first_plan_ = true;
};

}  // namespace joulery
