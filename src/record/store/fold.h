// How a day's file is put in order: tails become blocks of every level, small blocks of a roll-up become one, an old day
// loses its fine levels. All in the caller's transaction, except thin_day().
//
// Invariant: the sum of a series over a file is the same before and after, at every level that the file keeps.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"
#include "record/store/day_file.h"

namespace joulery {

// What packing and unpacking needs; one per thread.
struct StoreTools {
  ColumnCodec codec;
  Squeezer squeezer;
  Bytes work;
};

using SeriesKinds = std::vector<SeriesKind>;  // by number in the file; one that is not there counts as a sum

// The kinds of all series of a file.
Result<SeriesKinds> kinds_of(Database& database, StoreTools& tools);

// All tails become one block of each level; they must lie within one hour. How many tails could not be read, and are lost.
Result<std::int64_t> fold_tails(Database& database, const SeriesKinds& kinds, StoreTools& tools);

// The blocks of a roll-up within [begin, end) become one, where there are several.
Result<void> merge_blocks(Database& database, Level level, std::int64_t begin_ms, std::int64_t end_ms, StoreTools& tools);

// The same, or leaves the blocks as they are where one of them is damaged: what is left of it can still be read.
Result<void> merge_sound(Database& database, Level level, std::int64_t begin_ms, std::int64_t end_ms, StoreTools& tools);

// Folds the tails of an hour that is over, and makes one of its blocks of minutes. `hour`: its begin in milliseconds.
Result<std::int64_t> fold_hour(Database& database, const SeriesKinds& kinds, std::int64_t hour, StoreTools& tools);

// Keys that lie row by row become packs.
Result<void> pack_series(Database& database, StoreTools& tools);

// Folds, merges, and packs all of a day that is over.
Result<std::int64_t> finish_day(Database& database, StoreTools& tools);

// Writes the file anew without the levels below `finest`. The day must be finished and sealed; readers that have the old
// file open go on with it.
Result<void> thin_day(const std::string& path, Level finest);

}  // namespace joulery
