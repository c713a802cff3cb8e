// A recording as a trace that opens in ui.perfetto.dev: power as counter tracks, phases and steps as slices, times without
// readings as slices of their own, for a counter track cannot show "unknown". The format is Chrome's JSON trace events, for
// it is documented, streams as text and needs no schema compiler. Invariant: slices of one track nest or follow each other;
// time stamps are microseconds with three decimals, exact from nanoseconds; a missing value never becomes a counter value.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/time.h"
#include "judge/report.h"

namespace joulery {

// Call head once, then counters and slices in any order (slices of one process by their begin), then tail. Each call
// returns the next piece of the file.
class PerfettoTrace {
 public:
  // Names the run and the processes of the report.
  std::string head(const Report& report);
  // One value of a track named "GPU 0"; `at` since the start of the run; "" where there is no value.
  std::string counter(std::string_view track, Duration at, const std::optional<double>& watts);
  // A time in which nothing is known of a track. Begins must not fall within one track.
  std::string gap(std::string_view track, Duration begin, Duration end, std::string_view reason);
  // kind: phase | step | mark; begins must not fall within one kind and process.
  std::string band(const ChartBand& band);
  std::string tail() const;

 private:
  struct Lanes {
    std::vector<std::vector<std::int64_t>> open;  // for each lane the ends of its open slices, outermost first
    std::int64_t first_thread = 0;
  };
  std::string event(std::string_view json);
  std::string slice(std::int64_t pid, std::string_view group, std::string_view name, std::int64_t begin, std::int64_t end,
                    std::string_view detail);
  std::string thread_name(std::int64_t pid, std::int64_t thread, std::string_view name);

  bool any_ = false;
  std::int64_t threads_ = 0;
  std::map<std::pair<std::int64_t, std::string>, Lanes> groups_;
};

// The whole of a chart and a report, piece by piece into `put`, which says whether it could write; stops and gives false
// where it could not.
bool write_perfetto(const Report& report, const Chart& chart, const std::function<bool(const std::string&)>& put);

}  // namespace joulery
