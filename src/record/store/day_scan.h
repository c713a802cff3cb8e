// Reads rows of chosen series out of one day's file, at one level: from its blocks, and from the tails that are in no block
// yet. What store_reader.h and the tables for SQL have in common.
//
// Invariant: each row that lies in the wanted time comes once; what is damaged is counted, never guessed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "record/store/fold.h"

namespace joulery {

// Rows of one series (or, at number 0, of the coverage), side by side. At the levels above raw: whole slots.
struct ScannedRows {
  std::int64_t number = 0;
  std::span<const std::int64_t> begin_ms, counts, held_ms;  // counts of gauges: times milliseconds, at every level
};

class RowSink {
 public:
  virtual ~RowSink() = default;
  virtual void rows(const ScannedRows& rows) = 0;
};

class DayScan {
 public:
  // `wanted`: numbers in the file, rising. The coverage, number 0, always comes too.
  DayScan(Database& database, const SeriesKinds& kinds, std::vector<std::int64_t> wanted, StoreTools& tools)
      : database_(database), kinds_(kinds), wanted_(std::move(wanted)), tools_(tools) {}

  // Rows (slots) of blocks of the level that begin in [begin, end).
  Result<void> blocks(Level level, std::int64_t begin_ms, std::int64_t end_ms, RowSink& sink);
  // Rows of tails that begin in [begin, end), moved to the begin of their slot of `level`.
  Result<void> tails(Level level, std::int64_t begin_ms, std::int64_t end_ms, RowSink& sink);
  std::int64_t damaged() const { return damaged_; }  // blobs that could not be read

 private:
  Result<void> block(const Block& block, std::int64_t begin_ms, std::int64_t end_ms, RowSink& sink);
  Result<bool> read_times(const Block& block);
  void pack(const Block& block, std::int64_t begin_ms, std::int64_t end_ms, RowSink& sink);
  void give(const Block& block, std::int64_t number, std::int64_t begin_ms, std::int64_t end_ms, RowSink& sink);
  void give_raw_coverage(std::int64_t begin_ms, std::int64_t end_ms, RowSink& sink);
  bool wants(std::int64_t first, std::int64_t last) const;
  bool is_mean(std::int64_t number) const {
    return static_cast<std::size_t>(number) < kinds_.size() && kinds_[static_cast<std::size_t>(number)] == SeriesKind::mean;
  }

  Database& database_;
  const SeriesKinds& kinds_;
  std::vector<std::int64_t> wanted_;
  StoreTools& tools_;
  BlockTimes times_;
  Coverage coverage_;
  PackReader pack_;
  SeriesRows rows_;
  std::vector<std::int64_t> begin_, counts_, held_;
  std::int64_t damaged_ = 0;
};

}  // namespace joulery
