#include "record/store/old_days.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace joulery {
namespace {

constexpr std::int64_t steady_enough_ms = hour_ms;
constexpr std::int64_t jump_ms = hour_ms;

}  // namespace

void OldDays::saw(std::int64_t begin_ms, std::int64_t length_ms) {
  if (end_ms_ < 0) {
    // After a start the clock is believed where it goes on from the newest file, and in an empty folder.
    const auto days = days_in(folder_);
    std::int64_t before = day_of(begin_ms);
    if (days) {
      for (const std::int64_t day : *days) {
        if (day != day_of(begin_ms)) before = day;
      }
    }
    if (std::abs(before - day_of(begin_ms)) <= 1) steady_ms_ = steady_enough_ms;
  } else if (std::abs(begin_ms - end_ms_) > jump_ms) {
    steady_ms_ = 0;
  }
  steady_ms_ = std::min(steady_ms_ + length_ms, steady_enough_ms);
  newest_ms_ = begin_ms;
  end_ms_ = begin_ms + length_ms;
}

bool OldDays::expired(std::int64_t day, Duration keep) const { return (day + 1) * day_ms + keep.base_units() / 1'000'000 <= newest_ms_; }

// Each hour all days that may have to change; the first time all there are.
void OldDays::plan(std::int64_t open_day) {
  const std::int64_t hour = floor_to(newest_ms_, hour_ms);
  if (hour == planned_hour_ && !first_plan_) return;
  const auto days = days_in(folder_);
  if (!days) return;
  waiting_.clear();
  const std::int64_t month = 31;
  for (const std::int64_t day : *days) {
    const bool hours_go = settings_.keep_hours && expired(day, *settings_.keep_hours);
    const bool long_done = expired(day, settings_.keep_minutes + seconds(static_cast<double>(month * 86'400)));
    if (day != open_day && (first_plan_ || hours_go || !long_done)) waiting_.push_back(day);
  }
  planned_hour_ = hour;
  first_plan_ = false;
}

Result<std::int64_t> OldDays::finish(const std::string& path, StoreTools& tools) {
  auto database = open_day_for_writing(path);
  if (!database) return std::unexpected(database.error());
  if (auto begun = database->execute("BEGIN IMMEDIATE"); !begun) return std::unexpected(begun.error());
  const auto lost = finish_day(*database, tools);
  if (!lost) return lost;
  if (auto done = database->execute("COMMIT"); !done) return std::unexpected(done.error());
  (void)seal_day(*database);
  return lost;
}

Result<std::int64_t> OldDays::tidy(std::int64_t day, StoreTools& tools) {
  const std::string path = folder_ + "/" + day_file_name(day);
  const bool steady = steady_ms_ >= steady_enough_ms;
  if (steady && settings_.keep_hours && expired(day, *settings_.keep_hours)) {
    for (const char* suffix : {"", "-wal", "-shm"}) ::unlink((path + suffix).c_str());
    return 0;
  }
  std::int64_t lost = 0, tails = 0;
  Level finest = Level::raw;
  {
    auto database = open_day_for_reading(path);
    if (!database) return std::unexpected(database.error());
    const auto level = finest_level(*database);
    const auto left = database->integer("SELECT count(*) FROM tail");
    if (!level) return std::unexpected(level.error());
    if (!left) return std::unexpected(left.error());
    finest = *level, tails = *left;
  }
  const bool left_open = access((path + "-wal").c_str(), F_OK) == 0 || access((path + "-journal").c_str(), F_OK) == 0;
  if (tails > 0 || left_open) {
    const auto finished = finish(path, tools);
    if (!finished) return finished;
    lost = *finished;
  }
  const Level wanted = !steady                                ? Level::raw
                       : expired(day, settings_.keep_minutes) ? Level::hour
                       : expired(day, settings_.keep_raw)     ? Level::minute
                                                              : Level::raw;
  // A log that is still there belongs to this very file: a reader holds it. Later.
  if (wanted <= finest || access((path + "-wal").c_str(), F_OK) == 0) return lost;
  if (auto done = thin_day(path, wanted); !done) return std::unexpected(done.error());
  return lost;
}

Result<std::int64_t> OldDays::tidy_one(std::int64_t open_day, StoreTools& tools) {
  plan(open_day);
  while (!waiting_.empty() && waiting_.back() == open_day) waiting_.pop_back();
  if (waiting_.empty()) return 0;
  failed_day_ = waiting_.back();
  waiting_.pop_back();
  return tidy(failed_day_, tools);
}

}  // namespace joulery
