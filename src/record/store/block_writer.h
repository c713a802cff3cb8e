// How blocks are written: packs as they fill, and the slots of a roll-up as they are added up.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "record/crc32.h"
#include "record/store/day_file.h"

namespace joulery {

// Writes one block: its row, and its packs as they fill.
class BlockWriter {
 public:
  BlockWriter(Database& database, ColumnCodec& codec) : database_(database), codec_(codec) {}

  Result<void> begin(const Block& block, const Bytes& times) {
    full_ = pack_bytes(block.level);
    auto insert = database_.prepare("INSERT INTO block VALUES (NULL,?,?,?,?,?,?)");
    if (!insert) return std::unexpected(insert.error());
    insert->bind(std::int64_t{static_cast<std::uint8_t>(block.level)}).bind(block.begin_ms).bind(block.end_ms);
    insert->bind(static_cast<std::int64_t>(block.rows)).bind(std::int64_t{crc32(times)}).bind(std::span<const std::uint8_t>(times));
    auto done = insert->run();
    id_ = sqlite3_last_insert_rowid(database_.handle());
    return done;
  }
  Result<void> add(std::int64_t series, const SeriesRows& rows, const Coverage* coverage) {
    pack_.add(series, rows, coverage, codec_);
    return pack_.bytes() >= full_ ? write_pack() : Result<void>{};
  }
  Result<void> end() { return pack_.empty() ? Result<void>{} : write_pack(); }

 private:
  Result<void> write_pack() {
    auto insert = database_.prepare("INSERT INTO pack VALUES (?,?,?,?,?)");
    if (!insert) return std::unexpected(insert.error());
    insert->bind(id_).bind(pack_.first()).bind(pack_.last());
    const Bytes blob = pack_.take();
    return insert->bind(std::int64_t{crc32(blob)}).bind(std::span<const std::uint8_t>(blob)).run();
  }

  Database& database_;
  ColumnCodec& codec_;
  PackBuilder pack_;
  std::int64_t id_ = 0;
  std::size_t full_ = 0;
};

// Slots of one series of a roll-up that is being made.
class Slots {
 public:
  explicit Slots(std::size_t count) : sums_(count), held_(count), any_(count) {}
  void add(std::size_t slot, std::int64_t count, std::int64_t held) {
    sums_[slot] = plus(sums_[slot], count);
    held_[slot] = plus(held_[slot], held);
    any_[slot] = true;
  }
  // Moves what was added into `rows`, and is empty again.
  void take(SeriesRows& rows) {
    rows.clear();
    for (std::size_t slot = 0; slot < any_.size(); ++slot) {
      if (!any_[slot]) continue;
      rows.rows.push_back(static_cast<std::uint32_t>(slot));
      rows.counts.push_back(sums_[slot]);
      rows.held.push_back(held_[slot]);
      sums_[slot] = held_[slot] = 0;
      any_[slot] = false;
    }
  }

 private:
  // Counts may be any: modulo 2^64, as the bits go.
  static std::int64_t plus(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  }
  std::vector<std::int64_t> sums_, held_;
  std::vector<bool> any_;
};

inline Coverage coverage_from(const SeriesRows& own, std::size_t slots) {
  Coverage coverage(slots, 0);
  for (std::size_t i = 0; i < own.rows.size(); ++i) coverage[own.rows[i]] = own.held[i];
  return coverage;
}

}  // namespace joulery
