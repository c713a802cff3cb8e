// The blobs of a day file: tails (one tick, row-wise), packs (many series over one block, each in columns of its own),
// the times of a block, and packed series keys. docs/formats/store.md gives every byte.
//
// Invariant: reading gives back what was written; bytes that nothing wrote give false, and never an allocation that the
// bytes (or the limits below) do not warrant.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "record/bytes.h"
#include "record/column.h"

namespace joulery {

inline constexpr std::size_t most_block_rows = ColumnCodec::max_rows;
inline constexpr std::size_t most_tail_samples = std::size_t{1} << 22;

// A number of a series in a day file, and its counts in one tick. Number 0 is not a series: it is the block's own coverage.
struct FileSample {
  std::int64_t series = 0, count = 0;
};

// Squeezes bytes with zstd where that helps; the inverse gives false for what is no such thing or is beyond `most` bytes.
class Squeezer {
 public:
  Squeezer();
  ~Squeezer();
  Squeezer(const Squeezer&) = delete;
  Squeezer& operator=(const Squeezer&) = delete;
  void squeeze(std::span<const std::uint8_t> plain, int level, Bytes& out);
  bool stretch(std::span<const std::uint8_t> packed, std::size_t most, Bytes& plain);

 private:
  void* compress_;
  void* decompress_;
};

void put_tail(std::span<const FileSample> samples, Squeezer& squeezer, Bytes& work, Bytes& out);
// Appends to `samples`.
bool take_tail(std::span<const std::uint8_t> blob, Squeezer& squeezer, Bytes& work, std::vector<FileSample>& samples);

// One series over a block: in which rows (or slots) it was, and what it had there.
struct SeriesRows {
  std::vector<std::uint32_t> rows;   // rising
  std::vector<std::int64_t> counts;  // beside rows: raw counts; of a roll-up sums (of gauges: of count times milliseconds)
  std::vector<std::int64_t> held;    // beside rows, of a roll-up only: milliseconds of the ticks that it was in
  void clear() {
    rows.clear();
    counts.clear();
    held.clear();
  }
};

// How long the ticks of each slot of a roll-up were, whoever was in them; by slot.
using Coverage = std::vector<std::int64_t>;

// Gathers series with rising numbers.
class PackBuilder {
 public:
  // `coverage`: of a roll-up; null in raw packs.
  void add(std::int64_t series, const SeriesRows& rows, const Coverage* coverage, ColumnCodec& codec);
  bool empty() const { return numbers_.empty(); }
  std::size_t bytes() const { return entries_.size(); }
  std::int64_t first() const { return numbers_.front(); }
  std::int64_t last() const { return numbers_.back(); }
  Bytes take();  // and starts anew

 private:
  std::vector<std::int64_t> numbers_;
  std::vector<std::size_t> sizes_;
  Bytes entries_;
};

// The series of a pack, to be unpacked one by one. The blob must outlive it.
class PackReader {
 public:
  // False: not a pack whose first series is `first`.
  bool open(std::span<const std::uint8_t> blob, std::int64_t first);
  std::size_t size() const { return numbers_.size(); }
  std::int64_t number(std::size_t i) const { return numbers_[i]; }
  // `row_limit`: rows (or slots) of the block. `coverage` as it was for add(); null for a raw pack and for series 0.
  bool unpack(std::size_t i, std::size_t row_limit, bool roll_up, const Coverage* coverage, ColumnCodec& codec, SeriesRows& rows) const;

 private:
  std::vector<std::int64_t> numbers_;
  std::vector<std::span<const std::uint8_t>> entries_;
};

// When the rows of a raw block began, and how long they were, in milliseconds.
struct BlockTimes {
  std::vector<std::int64_t> begin, length;
};
void put_times(const BlockTimes& times, ColumnCodec& codec, Bytes& out);
bool take_times(std::span<const std::uint8_t> blob, std::size_t rows, ColumnCodec& codec, BlockTimes& times);

}  // namespace joulery
