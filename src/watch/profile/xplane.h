// Reads XLA's xplane.pb: what the profilers of TensorFlow, JAX and PyTorch/XLA write.
//
// It goes over the file twice: names stand behind the lines that use them, so the first pass reads names and leaves out
// lines, and the second reads the lines. Times are picoseconds since a line's own nanosecond; they are rounded to the
// nanosecond once, begin and end each, so that what touched still touches. A line's nanoseconds may count from the
// profile's start: then the plane "Task Environment" tells when that was.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "watch/profile/profile.h"
#include "watch/profile/trace_input.h"
#include "watch/profile/xplane_names.h"

namespace joulery {

// True where the file begins as an XSpace does.
bool is_xplane(std::string_view start);

// What an event of the file is called in the profile that read_xplane makes of it, and when it is within its line.
struct PlacedXEvent {
  std::int64_t begin = 0, duration = 0;   // ns since the line's own
  std::string_view name;
};

// Reads a file's events once more, for who copies it.
class XplanePlacer {
 public:
  // `names` of read_names(), which outlive it.
  XplanePlacer(const std::vector<xplane::PlaneNames>& names, const ProfileLimits& limits);
  ~XplanePlacer();
  void begin_plane(std::size_t number);
  // The line's nanoseconds on the profile's clock.
  std::int64_t line_begin(std::int64_t timestamp_ns) const;
  // Nothing for what takes no time, or is no event.
  std::optional<PlacedXEvent> place(std::string_view event);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// Errors: format, with the byte; unsupported where the limits do not hold it; those of the input.
Result<Profile> read_xplane(TraceInput& input);

}  // namespace joulery
