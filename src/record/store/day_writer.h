// The file of the day that is being written: takes rows as tails, and folds them in time.
//
// Invariant: what a call that failed had begun is rolled back, and the state in memory is that of the file.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>

#include "record/store/fold.h"
#include "record/store/series_book.h"

namespace joulery {

// A tick that waits to be committed: pairs of series id and count as varints.
struct WaitingRow {
  std::int64_t begin_ms = 0, length_ms = 0, samples = 0;
  Bytes bytes;
  std::size_t weight() const { return sizeof *this + bytes.capacity(); }
};

class DayWriter {
 public:
  // `book_mutex` guards `book`. Errors: as open_day_for_writing.
  static Result<DayWriter> open(const std::string& path, std::int64_t day, SeriesBook& book, std::mutex& book_mutex, StoreTools& tools);

  std::int64_t day() const { return day_; }
  std::optional<std::int64_t> hour() const { return hour_; }  // of the tails
  // The row begins another hour than the tails, or these are enough.
  bool must_fold(const WaitingRow& next, std::size_t fold_samples) const;
  Result<std::int64_t> fold(bool hour_is_over, StoreTools& tools);  // how many tails were lost
  // Commits rows from the front, up to the first that must_fold; how many.
  Result<std::size_t> commit(const std::deque<WaitingRow>& rows, std::size_t fold_samples, SeriesBook& book, std::mutex& book_mutex,
                             StoreTools& tools);
  // The day is over: everything is folded, merged, packed, and the file is left plain where no reader holds it.
  Result<std::int64_t> finish(StoreTools& tools);

 private:
  DayWriter(Database database, std::int64_t day) : database_(std::move(database)), day_(day) {}
  Result<void> look_at_tails();
  Result<void> write(const std::deque<WaitingRow>& rows, std::size_t count, SeriesBook& book, std::mutex& book_mutex, StoreTools& tools);
  Result<void> write_tail(Statement& insert, const WaitingRow& row, StoreTools& tools);
  Result<void> write_new_keys();
  void translate(const WaitingRow& row, SeriesBook& book);
  template <class Work>
  Result<void> in_transaction(Work work);

  Database database_;
  std::int64_t day_ = 0;
  std::int64_t next_number_ = 1;
  SeriesKinds kinds_;
  std::optional<std::int64_t> hour_;  // of the tails; empty where there are none
  std::size_t rows_ = 0, samples_ = 0;  // in tails
  std::vector<FileSample> file_samples_;
  struct NewKey {
    SeriesId series;
    std::int64_t number;
    std::string key;
  };
  std::vector<NewKey> new_keys_;  // of the transaction that is under way
  Bytes blob_;
};

}  // namespace joulery
