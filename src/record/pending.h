// What a recording's writer holds in memory: rows that were added and are in no chunk of the file yet.
//
// Invariant: nothing is forgotten before committed(): a transaction that failed is tried again, into this file or
// another, with the same rows.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "record/chunk.h"
#include "record/recording.h"

namespace joulery {

// A chunk holds this many rounds (or marks): at 10 Hz, seven minutes. Longer ones would pack hardly better (the tables
// of one zstd block are 2 % of it), and cost more memory while open and more loss when damaged.
inline constexpr std::size_t chunk_rows = 4096;
// The last tail is rewritten at every flush until it is at least as long as this: at 10 Hz 200 to 400 bytes a series and second.
inline constexpr std::size_t tail_rows = 256;

// Rounds as they come, one behind the other. The sampler wakes to cold caches, and a round that goes to the end of two
// vectors touches a third of the memory that it would by column; columns are made at the next flush, all at once.
struct RoundLog {
  struct Entry {
    std::uint32_t device, readings;
    MonoTime deadline;
  };
  std::vector<Entry> entries;
  std::vector<Reading> readings;

  void push(const Round& round) {
    entries.push_back({static_cast<std::uint32_t>(round.device), static_cast<std::uint32_t>(round.readings.size()), round.deadline});
    readings.insert(readings.end(), round.readings.begin(), round.readings.end());
  }
  void clear() {
    entries.clear();
    readings.clear();
  }
};

// What was added since the last flush, by many threads.
struct Incoming {
  RoundLog rounds;
  std::vector<Mark> marks;
  std::vector<ProcessSample> processes;
  std::vector<DeviceProcessSample> device_processes;
  std::vector<RecordedEvent> events;
  std::vector<ClockMap> clocks;
  Metadata metadata;
};

// Rows that are not yet in a chunk: where the first stands in its series, and how many of them are in tails that stay.
struct OpenRows {
  std::int64_t first = 0;
  std::size_t in_tails = 0;
};

// Where a flush will leave an OpenRows when it is committed.
struct AfterFlush {
  std::size_t into_chunks = 0, in_tails = 0;
};

AfterFlush after_flush(std::size_t rows, const OpenRows& open, bool closing);

// Numbers for texts and process identities; those of `added` are not in the file yet.
template <class Key>
struct Interner {
  std::map<Key, std::int64_t> ids;
  std::vector<Key> added;
  std::int64_t id(const Key& key) {
    const auto [at, is_new] = ids.try_emplace(key, static_cast<std::int64_t>(ids.size()));
    if (is_new) added.push_back(key);
    return at->second;
  }
  std::int64_t first_added() const { return static_cast<std::int64_t>(ids.size() - added.size()); }
};

using ProcessKey = std::tuple<std::int32_t, std::int64_t, std::int32_t, std::string>;  // pid, start, parent, name

struct Pending {
  explicit Pending(const std::vector<RecordedDevice>& devices);

  // Takes over what was added, and leaves `fresh` empty with room for more.
  void take(Incoming& fresh);
  // The transaction is in the file: forgets what was written.
  void committed(bool closing);

  std::vector<RoundColumns> rounds;  // one per device
  std::vector<OpenRows> open;            // likewise
  MarkColumns marks;
  OpenRows open_marks;
  Interner<std::string> mark_names;
  Interner<ProcessKey> processes;
  std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>> process_rows;  // process, time, CPU time
  std::vector<DeviceProcessSample> device_processes;
  std::vector<RecordedEvent> events;
  std::vector<ClockMap> clocks;
  Metadata metadata;
};

}  // namespace joulery
