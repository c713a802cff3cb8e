// Which series a store knows in memory, and what number each has in the file of the day that is being written.
//
// Invariant: a series has a number in the open file only after its key was written there, or is about to be in the same
// transaction. What was forgotten makes room only after its last rows were committed.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "record/store/day_file.h"
#include "record/store/store.h"

namespace joulery {

class SeriesBook {
 public:
  SeriesId id(const SeriesKey& key);
  void forget(SeriesId series);
  bool known(SeriesId series) const { return series.value < entries_.size() && entries_[series.value].used; }

  // True the first time in this tick. Of a known series.
  bool first_in(std::int64_t tick, SeriesId series);

  // For the file that is open. `number`: 0 where the series has none yet.
  std::int64_t number(SeriesId series) const { return entries_[series.value].number; }
  void set_number(SeriesId series, std::int64_t number) { entries_[series.value].number = number; }
  SeriesKind kind(SeriesId series) const { return entries_[series.value].kind; }
  const std::string& key(SeriesId series) const { return *entries_[series.value].key; }
  // Another file was opened: no series has a number; those of the file are taken up as their keys come.
  void start_file(const SeriesCatalogue* catalogue);
  // No longer looks for keys of the file that were there when it was opened.
  void settle() { in_file_.clear(); }

  // All rows that were added are committed: what was forgotten before goes.
  void release();

 private:
  struct Entry {
    const std::string* key = nullptr;  // in ids_
    std::int64_t number = 0, last_tick = -1;
    SeriesKind kind = SeriesKind::sum;
    bool used = false, forgotten = false;
  };
  std::int64_t claim(const std::string& key);

  std::unordered_map<std::string, SeriesId> ids_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> free_;
  std::vector<SeriesId> forgotten_;  // still in entries_
  std::unordered_map<std::string, std::int64_t> in_file_;
  std::string work_;
  Bytes bytes_;
};

}  // namespace joulery
