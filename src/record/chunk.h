// A chunk: some thousand rounds of one device (or marks), column by column, packed into one blob. No blob depends on
// another, so that a damaged one costs only its own rounds. docs/formats/recording.md gives every byte.
//
// Invariant: unpack(pack(x)) is x, with round times cut to whole microseconds and 0 as the raw value of a missing
// reading; a blob that no pack() made gives false and allocates no more than its declared rows allow.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "record/bytes.h"
#include "record/column.h"
#include "sense/reading.h"

namespace joulery {

// Rounds of one device in memory, column by column; times in whole microseconds of the monotonic clock.
struct RoundColumns {
  struct Channel {
    std::vector<std::int64_t> raw;      // where missing: the value before, which packs best
    std::vector<MissingReason> reason;  // empty while nothing was missing
  };
  std::vector<std::int64_t> deadline, begin, end;  // begin rounded down, end up: the readings lie within
  std::vector<Channel> channels;

  explicit RoundColumns(std::size_t channel_count = 0) : channels(channel_count) {}
  std::size_t rows() const { return begin.size(); }
  void push(MonoTime due, std::span<const Reading> readings);
  void drop_front(std::size_t count);
};

// What is known of one channel in one chunk without unpacking it; raw values as signed numbers, missing ones left out.
struct ChannelSummary {
  std::int64_t first = 0, last = 0, min = 0, max = 0;
  std::int64_t missing = 0;  // how many readings are missing; all of them: the four above are 0
  bool monotone = true;      // no value is below the one before it
};
ChannelSummary summarise(const RoundColumns::Channel& channel, std::size_t from, std::size_t count);

// Where unpacked rounds go: places with room for all rows. A null pointer leaves that column out.
struct RoundTarget {
  MonoTime* before = nullptr;
  MonoTime* after = nullptr;
  std::vector<std::int64_t*> raw;      // one per channel
  std::vector<MissingReason*> reason;  // one per channel, holding `none`; may be null where nothing is missing
};

// Marks in memory, column by column; names are numbers of the table mark_name.
struct MarkColumns {
  std::vector<std::int64_t> time, pid, tid, kind, name, value;  // ns; value: the bits of the double
  std::size_t rows() const { return time.size(); }
  void drop_front(std::size_t count);
};

// Packs and unpacks chunks; holds working memory, so keep one per thread.
class ChunkCodec {
 public:
  static constexpr std::size_t max_rows = ColumnCodec::max_rows;

  Bytes pack(const RoundColumns& rounds, std::size_t from, std::size_t count, Packing packing = Packing::tight);
  Bytes pack(const MarkColumns& marks, std::size_t from, std::size_t count, Packing packing = Packing::tight);
  // False: not a blob of `rows` rounds and as many channels as the target has; the target then holds rubbish.
  bool unpack(std::span<const std::uint8_t> blob, std::size_t rows, const RoundTarget& target);
  // Appends to `marks`; false: not a blob of `rows` marks, and `marks` is as before.
  bool unpack(std::span<const std::uint8_t> blob, std::size_t rows, MarkColumns& marks);

 private:
  void pack_difference(std::span<const std::int64_t> later, std::span<const std::int64_t> earlier, Bytes& out, Packing packing);
  bool unpack_times(ByteReader& in, std::size_t rows, const RoundTarget& target);
  bool unpack_channel(ByteReader& in, std::size_t rows, std::int64_t* raw, MissingReason* reason);

  ColumnCodec columns_;
  std::vector<std::int64_t> work_, deadline_, begin_;
};

}  // namespace joulery
