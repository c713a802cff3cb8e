// A column of whole numbers, packed: what a recording keeps of one channel (or of the times) over a few thousand
// rounds. docs/formats/recording.md gives every byte.
//
// How: whatever all values share is divided out (a step of 10 mW; the 61.035 uJ of a RAPL count), the rest is taken as
// it is, as differences, or as differences of differences, whichever is cheapest; the median is subtracted, signs are
// folded (zigzag), and the bytes of equal significance stand together, each such plane compressed alone. So a counter
// with noise costs little more than the entropy of its noise, and decoding is a few tight loops.
//
// Invariant: decoding gives the very values that were encoded, for any values; bad bytes give an Error, never a crash,
// and never an allocation beyond `out`.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "core/result.h"
#include "record/bytes.h"

namespace joulery {

// How much work goes into packing. Both give columns that every reader reads.
enum class Packing : std::uint8_t {
  tight,  // what stays
  quick,  // what is packed again within minutes: differences as they are, a tenth of the work, about twice as long
};

// Packs and unpacks columns; holds the working memory, so keep one per thread. 0 to max_rows values at a time.
class ColumnCodec {
 public:
  static constexpr std::size_t max_rows = 65536;

  ColumnCodec();
  ~ColumnCodec();
  ColumnCodec(const ColumnCodec&) = delete;
  ColumnCodec& operator=(const ColumnCodec&) = delete;

  // Appends the packed column to `out`.
  void encode(std::span<const std::int64_t> values, Bytes& out, Packing packing = Packing::tight);
  // Fills `values` from the reader, which then stands behind the column. False: bytes that no encoder wrote.
  bool decode(ByteReader& in, std::span<std::int64_t> values);
  // Moves the reader behind a column of `rows` values without unpacking it. False as above.
  bool skip(ByteReader& in, std::size_t rows);

 private:
  void encode_quickly(std::span<const std::int64_t> values, Bytes& out);

  struct Memory;
  std::unique_ptr<Memory> memory_;
};

}  // namespace joulery
