// Reads a store, also while an agent writes it; nothing in the folder is changed.
//
// A question names series, a time, and a step; the answer takes hours where whole hours are wanted, minutes where whole
// minutes are, and single rows at the ragged ends. Where a day has lost its rows (or minutes), its ends are cut at whole
// minutes (or hours): a slot counts where it begins in the wanted time.
//
// Invariant: the sum of an answer's points over a time does not depend on the step, to the count; a step in which nothing
// was stored has no point.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/time.h"
#include "record/store/series.h"

namespace joulery {

struct StorePoint {
  WallTime begin;          // of the step
  std::int64_t count = 0;  // sums: counts; means: counts times milliseconds
  Duration held;           // the length of the ticks behind it; of a group of sums, of all ticks of the step
};

struct StoredSeries {
  SeriesKey key;  // of a group: the name, and the labels by which it was grouped
  std::vector<StorePoint> points;  // rising
};

// SI: the total over the step (joules); of a gauge its mean.
double total_of(const SeriesKey& key, const StorePoint& point);
// SI: the total by the time that was held (watts); of a gauge its mean. Empty where that time is 0.
std::optional<double> rate_of(const SeriesKey& key, const StorePoint& point);

struct StoreQuery {
  SeriesMatcher series;
  WallTime from, to;                          // [from, to)
  Duration step;                              // 0: one point for all; else whole milliseconds; steps begin at its multiples since 1970
  std::optional<std::vector<std::string>> by; // series that agree in name, unit, kind and these labels are added up
};

struct StoreAnswer {
  std::vector<StoredSeries> series;     // by name, then labels
  std::vector<StorePoint> covered;      // ticks stored in each step, whatever the series: count is how many
  std::int64_t damaged = 0;             // blobs that could not be read: what they held is missing
  std::vector<std::string> notes;       // days that could not be read, ends that were cut coarser than asked
  Duration covered_time() const;
};

class StoreReader {
 public:
  // Errors: not_found, permission, newer_format.
  static Result<StoreReader> open(const std::string& folder);

  // Errors: usage (a step that is no whole number of milliseconds, too many points), newer_format, io.
  Result<StoreAnswer> query(const StoreQuery& query) const;
  // The series that have rows in days touched by [from, to), each once, by name, then labels.
  Result<std::vector<SeriesKey>> list(const SeriesMatcher& series, WallTime from, WallTime to) const;

  const std::string& folder() const { return folder_; }
  // Days since 1970 that the folder has, rising.
  const std::vector<std::int64_t>& days() const { return days_; }

 private:
  StoreReader(std::string folder, std::vector<std::int64_t> days) : folder_(std::move(folder)), days_(std::move(days)) {}

  std::string folder_;
  std::vector<std::int64_t> days_;
};

}  // namespace joulery
