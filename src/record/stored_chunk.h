// Chunks as they stand in a recording's tables, read and unpacked: shared by Recording and by the SQL tables.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "record/chunk.h"
#include "record/database.h"
#include "record/recording.h"

namespace joulery {

// One row of chunk or tail, or of mark_chunk or mark_tail (then times are nanoseconds and `missing` is 0).
struct StoredChunk {
  std::int64_t first = 0;  // where its first round stands in the series
  std::size_t rows = 0;
  std::int64_t begin = 0, end = 0;  // when: microseconds for rounds, nanoseconds for marks
  std::int64_t missing = 0;         // readings without a value, all channels together
  std::uint32_t crc = 0;
  Bytes data;
};

// Reads the row at which `statement` stands; its columns are those of chunk_columns or mark_columns.
StoredChunk stored_chunk(const Statement& statement);
inline constexpr const char* chunk_columns = "first, rounds, begin_us, end_us, missing, crc32, data";
inline constexpr const char* mark_columns = "first, marks, begin_ns, end_ns, 0, crc32, data";

// All chunks of one device in order, or all of marks.
Result<std::vector<StoredChunk>> read_chunks(Database& database, std::size_t device);
Result<std::vector<StoredChunk>> read_mark_chunks(Database& database);

// Whether the bytes are those that were written.
bool intact(const StoredChunk& chunk);

// Rounds of a device unpacked; where[i] tells whether chunk i could be read.
struct Unpacked {
  Series series;
  std::vector<bool> readable;
};
// Uses a second thread where there is enough to do.
Unpacked unpack_series(const std::vector<StoredChunk>& chunks, std::size_t channels);

// Marks in the order in which they were added; a mark with an unknown kind or name makes its chunk unreadable.
std::vector<Mark> unpack_marks(std::span<const StoredChunk> chunks, const std::vector<std::string>& names, std::vector<bool>& readable);

Result<std::vector<RecordedDevice>> read_devices(Database& database);
Result<std::vector<std::string>> read_mark_names(Database& database);
Result<std::vector<ClockMap>> read_clock_maps(Database& database);

}  // namespace joulery
