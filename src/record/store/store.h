// The agent's own store: what it measured, second by second, in files by day that need no server. Raw rows are kept for
// days, minutes for months, hours for ever. docs/formats/store.md gives every table and byte; store_reader.h reads it.
//
// How: add() keeps a tick in memory; flush(), once a second, commits what came as row-wise tails. After an hour or some
// hundred thousand counts the tails are turned into columns, and their minutes and hours are summed in the same
// transaction.
//
// Invariants: what a flush() that returned has committed survives the end of the program at any moment. A row lies where
// its tick began by the wall clock; when that clock steps back, one second holds the rows of both times, and its energy
// and its length are those of both: nothing is overwritten or left out. The sum of a series over whole hours is the same at
// every level, to the count. A second without rows is nowhere, at any level: each minute and hour says how long its
// ticks were.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/time.h"
#include "record/store/series.h"

namespace joulery {

struct StoreSettings {
  Duration keep_raw = seconds(2 * 86'400);      // a day loses its rows when it has been over for this long
  Duration keep_minutes = seconds(60 * 86'400);
  std::optional<Duration> keep_hours = {};      // empty: for ever
  std::size_t fold_samples = 750'000;           // tails are folded when they hold this many counts, at the latest each hour
  std::size_t waiting_bytes = 16 << 20;         // the most that waits in memory while nothing can be written
};

// A series of this store object. Valid until forget().
struct SeriesId {
  std::uint32_t value = 0;
  friend bool operator==(SeriesId, SeriesId) = default;
};

struct StoreSample {
  SeriesId series;
  std::int64_t count = 0;  // in the series' unit
};

enum class StoreEventKind : std::uint8_t {
  stopped,  // nothing can be written: what is added waits in memory
  resumed,
  dropped,  // more waited than may: the oldest rows were given up
  aside,    // a damaged file was moved aside, and a new one begun
  damaged,  // rows of a file could not be read, and are lost
  untidy,   // an old day could not be finished or made smaller
};
constexpr std::string_view name_of(StoreEventKind kind) {
  constexpr std::string_view names[] = {"stopped", "resumed", "dropped", "aside", "damaged", "untidy"};
  return names[static_cast<unsigned>(kind)];
}

// Something that the one who runs the agent should hear of, once at each change.
struct StoreEvent {
  StoreEventKind kind = StoreEventKind::stopped;
  std::string text;  // one sentence, with the path
};

struct StoreCounts {
  std::int64_t rows = 0;             // committed
  std::int64_t samples = 0;          // committed
  std::int64_t dropped_rows = 0;     // given up because too many waited
  std::int64_t refused_samples = 0;  // of a series that is not known, or twice in a tick
  std::int64_t waiting_bytes = 0;
};

class Store {
 public:
  // Makes the folder (not those above it) where there is none. The file of a day is opened by the first flush() that needs it.
  // Errors: busy (another agent writes there), newer_format, permission, not_found, no_space.
  static Result<std::unique_ptr<Store>> open(const std::string& folder, const StoreSettings& settings = {});
  virtual ~Store() = default;

  // The number of a series; cheap where the key is known, but keep it for as long as the series is in use.
  virtual SeriesId series(const SeriesKey& key) = 0;
  // The series will get no more samples (a process that ended). The id must not be used again; what was added stays.
  virtual void forget(SeriesId series) = 0;

  // One tick, which ended at `at`. A series that is not in `samples` was not there; that is not 0. Never waits for a disk.
  virtual void add(WallTime at, Duration tick, std::span<const StoreSample> samples) = 0;
  // Commits what was added; about once a second. An Error: it waits in memory, and the next flush tries again.
  virtual Result<void> flush() = 0;
  // Commits, and gives the folder back.
  virtual Result<void> close() = 0;

  // What happened since the last call.
  virtual std::vector<StoreEvent> take_events() = 0;
  virtual StoreCounts counts() const = 0;

 protected:
  Store() = default;
};

// What a count of stored energy is worth, as a rule: small enough for a process of some milliwatts over a minute, and not
// so small that each second of a server's power is mostly noise (which cannot be packed).
inline constexpr std::int64_t stored_microjoules = 20'000;
inline constexpr double stored_joule_unit = 0.02;

// Whole counts of a total that only grows, with nothing lost in between: each call gives what came since the one before,
// and the remainder stays for the next. So the counts of a series sum to its total, cut once to a whole count.
class WholeCounts {
 public:
  explicit WholeCounts(std::int64_t microjoules_per_count = stored_microjoules) : per_count_(microjoules_per_count) {}
  std::int64_t up_to(Energy total) {
    const std::int64_t now = floor_of(total.base_units());
    const std::int64_t came = now - before_;
    before_ = now;
    return came;
  }
  // What of a total was not given yet.
  Energy rest_of(Energy total) const { return microjoules(total.base_units() - before_ * per_count_); }
  // The total from which the next call counts.
  void start_at(Energy total) { before_ = floor_of(total.base_units()); }

 private:
  std::int64_t floor_of(std::int64_t value) const { return value / per_count_ - (value % per_count_ < 0 ? 1 : 0); }
  std::int64_t per_count_, before_ = 0;
};

}  // namespace joulery
