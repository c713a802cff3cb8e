// Writes rows that are pending into the tables of a recording. Rounds and marks go in blobs: the newest stand in small
// "tail" rows, of which only the last is rewritten; when there are enough for a chunk they are packed once more,
// together, and the tails go.
//
// Invariant: what is pending is not changed: whether it may be forgotten is known only after the commit.
#pragma once

#include <vector>

#include "record/database.h"
#include "record/pending.h"

namespace joulery {

// The tables `device` and `channel`, once at the start.
Result<void> write_devices(Database& database, const std::vector<RecordedDevice>& devices);

class RowWriter {
 public:
  // `closing`: all rows go into chunks, and no tails are left. Lives as long as one transaction.
  RowWriter(Database& database, ChunkCodec& codec, const Pending& pending, bool closing)
      : database_(database), codec_(codec), pending_(pending), closing_(closing) {}

  // Within a transaction of the caller. Errors: those of SQLite, a full disk among them.
  Result<void> write();

 private:
  Result<void> write_rounds();
  Result<void> write_device(std::size_t device);
  Result<void> write_round_rows(bool chunk, std::size_t device, std::size_t from, std::size_t count);
  Result<void> write_summaries(std::int64_t chunk, const RoundColumns& rounds, std::size_t from, std::size_t count);
  Result<void> write_marks();
  Result<void> write_mark_rows(bool chunk, std::size_t from, std::size_t count);
  Result<void> write_processes();
  Result<void> write_device_processes();
  Result<void> write_events();
  Result<void> write_clocks_and_metadata();

  Database& database_;
  ChunkCodec& codec_;
  const Pending& pending_;
  bool closing_;
};

}  // namespace joulery
