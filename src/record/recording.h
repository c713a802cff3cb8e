// A recording: one SQLite file that holds all of a run. docs/formats/recording.md describes every table.
// It keeps what was read, raw; unwrapping counters and judging gaps happen on reading it, in meter/ and ledger/.
//
// Invariant: a writer that dies at any moment leaves a file that Recording::open reads, less at most what came
// after the last flush().
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/time.h"
#include "meter/round.h"
#include "sense/channel.h"
#include "sense/device_process.h"
#include "watch/mark.h"
#include "watch/process_sample.h"

namespace joulery {

// A device as a recording remembers it.
struct RecordedDevice {
  std::string kind, name;
  Duration interval;              // how often it was asked to be read
  std::vector<Channel> channels;
};

// Something that happened to the measuring itself: "suspended", "device lost", "rounds missed".
struct RecordedEvent {
  Interval when;
  std::string kind, detail;
  std::int64_t count = 0;
};

// Who used a device at one time, as the device told.
struct DeviceProcessSample {
  std::size_t device = 0;
  MonoTime time;
  DeviceProcess process;
};

// All rounds of one device, oldest first. Column-wise: each column runs beside `before` and `after`, which are kept to
// the microsecond, `before` rounded down and `after` up. Where a reading is missing `raw` is 0 and stands for nothing.
struct Series {
  struct Column {
    std::vector<std::int64_t> raw;
    std::vector<MissingReason> reason;  // empty where no reading of this channel was ever missing
  };
  std::vector<MonoTime> before, after;  // of the whole round; a channel was read within
  std::vector<Column> columns;          // one per channel
};

// Facts about the run by name, each a JSON text: "command", "exit_code", "machine", "version", "factors".
using Metadata = std::map<std::string, std::string>;

class RecordingWriter {
 public:
  // Creates the file; an Error where the path exists, cannot be written, or the disk is full. `clocks` is the recording's first
  // crossing: now, or that of a log from another time.
  static Result<std::unique_ptr<RecordingWriter>> create(const std::string& path, std::vector<RecordedDevice> devices,
                                                         const Metadata& metadata, const ClockMap& clocks = ClockMap::now());
  virtual ~RecordingWriter() = default;

  // These only append to memory (a mutex, no I/O) and may be called from any thread.
  virtual void add(const Round& round) = 0;
  virtual void add(const Mark& mark) = 0;
  virtual void add(const ProcessSample& sample) = 0;
  virtual void add(const DeviceProcessSample& sample) = 0;
  virtual void add(const RecordedEvent& event) = 0;
  virtual void add(const ClockMap& crossing) = 0;
  virtual void set(const std::string& name, const std::string& json) = 0;

  // Writes what was added since the last call, in one transaction. One thread at a time; call it once a second.
  // An Error (full disk) leaves the data in memory for the next try.
  virtual Result<void> flush() = 0;
  // Flushes, and folds the write-ahead log into the one file.
  // May be called again after an Error. A writer destroyed without it loses what was not flushed.
  virtual Result<void> close() = 0;
  // Where the disk stays full: copies what was flushed into a new file at `path`, on another disk, writes there what is
  // still in memory, and goes on there. What the old file holds stays there, readable. After an Error (`path` exists,
  // or has no room either) nothing is left at `path`, and the writer stands as before.
  virtual Result<void> rescue(const std::string& path) = 0;
};

class Recording {
 public:
  // Errors: not_found; format (truncated, foreign: not a recording of ours); newer_format; permission.
  static Result<std::unique_ptr<Recording>> open(const std::string& path);
  virtual ~Recording() = default;

  virtual const Metadata& metadata() const = 0;
  virtual std::span<const RecordedDevice> devices() const = 0;
  // Rounds in a damaged part of the file are left out, and events() has a "chunk unreadable" for them.
  virtual Result<Series> series(std::size_t device) const = 0;
  virtual Result<std::vector<Mark>> marks() const = 0;                // by time
  virtual Result<std::vector<ProcessSample>> processes() const = 0;   // by process, then time
  virtual Result<std::vector<DeviceProcessSample>> device_processes() const = 0;  // in the order in which they were added
  virtual Result<std::vector<RecordedEvent>> events() const = 0;      // by begin
  virtual Result<std::vector<ClockMap>> clock_maps() const = 0;       // at least one, by mono
};

}  // namespace joulery
