// One file of the store: an SQLite database with all rows whose ticks began on one day (UTC). Finished days are plain
// files; the day that is being written has its write-ahead log beside it. docs/formats/store.md gives every table.
//
// Invariant: each row of a tick is in the file once: as a tail, or in a block of every level that the file still keeps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "record/database.h"
#include "record/store/blobs.h"
#include "record/store/series.h"

namespace joulery {

// How fine: each level holds the sums of the one before.
enum class Level : std::uint8_t { raw, minute, hour };
constexpr std::int64_t slot_ms(Level level) { return level == Level::hour ? 3'600'000 : level == Level::minute ? 60'000 : 1; }
// A pack is closed when it is as long as this. Whoever reads one series reads its pack: of hours many days are read at once.
constexpr std::size_t pack_bytes(Level level) { return level == Level::hour ? 4096 : level == Level::minute ? 16'384 : 65'536; }
constexpr std::string_view name_of(Level level) { return level == Level::hour ? "hour" : level == Level::minute ? "minute" : "raw"; }

inline constexpr std::int64_t hour_ms = 3'600'000, day_ms = 24 * hour_ms;
inline constexpr std::int64_t store_application_id = 0x4a535452;  // "JSTR"
inline constexpr std::int64_t store_version = 1;

// Days since 1970-01-01, and the greatest multiple of `step` that is not above `ms`.
constexpr std::int64_t floor_to(std::int64_t ms, std::int64_t step) { return ms - ((ms % step) + step) % step; }
constexpr std::int64_t day_of(std::int64_t ms) { return floor_to(ms, day_ms) / day_ms; }

// "day-2026-11-30.joules", and back; empty for a file that is none of ours.
std::string day_file_name(std::int64_t day);
std::optional<std::int64_t> day_of_file(std::string_view name);
// The days that a folder has, rising. Errors: not_found, permission.
Result<std::vector<std::int64_t>> days_in(const std::string& folder);

// Checks the head of a file without opening it as a database. Errors: newer_format. True: one of ours; false: anything else.
Result<bool> check_day_file(const std::string& path);

// Opens or makes the file of a day, ready to be written. Errors: format (not a day file, or damaged), newer_format, no_space …
Result<Database> open_day_for_writing(const std::string& path);
// Errors: also not_found.
Result<Database> open_day_for_reading(const std::string& path);
// Makes the tables in an empty database.
Result<void> make_day_tables(Database& database, const std::string& in = "main");
// Gives back the room that tails took, folds the log into the file, and leaves it plain.
Result<void> seal_day(Database& database);

struct Block {
  std::int64_t id = 0;
  Level level = Level::raw;
  std::int64_t begin_ms = 0, end_ms = 0;  // of a roll-up: its first slot, the end of its last
  std::size_t rows = 0;                   // or slots
};

// Blocks of a level that touch [begin, end), by begin.
Result<std::vector<Block>> blocks_in(Database& database, Level level, std::int64_t begin_ms, std::int64_t end_ms);

// The finest level that the file keeps.
Result<Level> finest_level(Database& database);

// All series keys of a file, in the order of their numbers.
class SeriesCatalogue {
 public:
  static Result<SeriesCatalogue> read(Database& database, Squeezer& squeezer);
  // Calls visit(number, key) for each; `must_contain`: parts of keys that may be skipped over without this text ("" for none).
  template <class Visit>
  void each(std::string_view must_contain, Visit visit) const {
    for (const Part& part : parts_) {
      if (!contains(part.bytes, must_contain)) continue;
      ByteReader in(part.bytes);
      for (std::int64_t number = part.first; !in.at_end(); ++number) {
        const auto key = take_key(in);
        if (!key) break;
        visit(number, *key);
      }
    }
  }
  std::int64_t unreadable() const { return unreadable_; }  // parts that are damaged

 private:
  struct Part {
    std::int64_t first = 0;
    Bytes bytes;
  };
  static bool contains(const Bytes& bytes, std::string_view text);
  std::vector<Part> parts_;
  std::int64_t unreadable_ = 0;
  std::int64_t next_ = -1;  // behind the last row that was read
};

}  // namespace joulery
