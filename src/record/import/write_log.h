// From an imported log to a recording. The log's first time of day is the recording's only crossing of the clocks; its
// monotonic clock counts from there, as a log has no other.
//
// Invariant: a reading's time in the recording is its time in the log, to the microsecond.
#pragma once

#include <vector>

#include "record/import/imported_log.h"
#include "record/recording.h"

namespace joulery {

// One time of day for a log: 0 on its clock.
class LogClock {
 public:
  explicit LogClock(const ImportedLog& log);
  WallTime first() const { return first_; }
  WallTime last() const { return last_; }
  MonoTime at(WallTime t) const { return MonoTime{} + (t - first_); }
  ClockMap crossing() const { return {MonoTime{}, BootTime{}, first_}; }

 private:
  WallTime first_, last_;
};

std::vector<RecordedDevice> recorded_devices(const ImportedLog& log);

// Adds every line as a round; `Writer` is a RecordingWriter or a MemoryRecording. Calls `pause` after some thousand rounds.
template <class Writer, class Pause>
void write_rounds(const ImportedLog& log, const LogClock& clock, Writer& writer, Pause pause) {
  std::vector<Reading> readings;
  std::size_t count = 0;
  for (std::size_t d = 0; d < log.devices.size(); ++d)
    for (const LoggedLine& line : log.devices[d].lines) {
      const MonoTime at = clock.at(line.at);
      readings.clear();
      for (const LoggedValue& value : line.values) readings.push_back({value.raw, value.reason, at, at});
      writer.add(Round{d, at, readings});
      if (++count % 4096 == 0) pause();
    }
}

}  // namespace joulery
