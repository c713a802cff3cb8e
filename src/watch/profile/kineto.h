// Reads Chrome's trace-event JSON: what PyTorch's Kineto writes, TensorFlow's and JAX's trace.json, and what any tool
// writes for chrome://tracing or Perfetto.
//
// Times are read digit by digit into whole nanoseconds: they have up to 19 digits, and a double has 16. With
// "baseTimeNanoseconds" they count from there, wherever in the file it stands; without it they are the wall clock's where
// they are large enough to be.
#pragma once

#include <memory>
#include <optional>

#include "watch/profile/chrome_scanner.h"
#include "watch/profile/profile.h"
#include "watch/profile/trace_input.h"

namespace joulery {

// True where the file begins as JSON does.
bool is_json_trace(std::string_view start);

// Where an event of the file is in the profile that read_kineto makes of it.
struct PlacedEvent {
  std::uint32_t track = 0;       // number in Profile::tracks, unless seal() put it aside
  std::int64_t begin = 0;        // as the file has it: without Profile::base_ns
  std::int64_t duration = 0;
  std::string_view name;
};

// Reads a file's events once more, in the same order, for who copies it.
class KinetoPlacer {
 public:
  explicit KinetoPlacer(const ProfileLimits& limits);
  ~KinetoPlacer();
  // Nothing for what takes no time: metadata, flows, counters. Of a begin and its end, the end is placed.
  std::optional<PlacedEvent> place(const ChromeEvent& event);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// Errors: format, with the byte; unsupported where the limits do not hold it; those of the input.
Result<Profile> read_kineto(TraceInput& input);

}  // namespace joulery
