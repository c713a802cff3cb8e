// A log that another tool wrote, read into what a recording holds: devices with their channels and readings at the log's own
// times of day. One parser per format fills this; app/import_command writes the recording.
//
// Invariant: what the log does not know ([N/A], ERR!, an empty cell) is a reason, never a number; times within a device never
// go back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/time.h"
#include "sense/channel.h"
#include "sense/reading.h"

namespace joulery {

// One cell: a raw value in counts of its channel's unit, or why there is none.
struct LoggedValue {
  std::int64_t raw = 0;
  MissingReason reason = MissingReason::none;
};

struct LoggedLine {
  WallTime at;
  std::vector<LoggedValue> values;  // one per channel
};

struct LoggedDevice {
  std::string kind, name;
  std::vector<Channel> channels;
  std::vector<LoggedLine> lines;
};

struct LoggedInterval {
  WallTime begin, end;
};

struct ImportedLog {
  std::string format;                   // "nvidia-smi CSV"
  std::vector<std::string> command;     // what the log says was run; empty where it says nothing
  std::optional<LoggedInterval> run;    // where the log tells it; else the time from its first reading to its last
  bool has_wall_clock = true;           // false: times count from the start of the log, whenever that was
  std::vector<LoggedDevice> devices;
  std::vector<std::string> notes;       // flags of the report: "gpu-unnamed", "clock-went-back: 3 lines"
};

// What a log does not say of itself and the user may.
struct ImportOptions {
  Duration utc_offset;      // of times without a zone: +1 h for Paris in winter
  std::string gpu;          // the card's name, where the log has none: "NVIDIA A100"
  int driver = 0;           // NVIDIA's driver, its major number; 0: as the log says, else a present one
  Duration interval;        // between snapshots that carry no time; 0: not said
  std::string component;    // what the log's meter measures, where the format does not tell: "wall", "node"
  std::string job;          // which job of a log of several
};

}  // namespace joulery
