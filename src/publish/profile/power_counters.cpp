#include "publish/profile/power_counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ledger/power_series.h"
#include "publish/json_writer.h"

namespace joulery {
namespace {

constexpr std::size_t most_points = 100'000;   // of a component, that a viewer still opens

std::string counter(const std::string& name, std::int64_t ns, double watts) {
  return fmt::format(R"({{"ph":"C","name":{},"pid":{},"tid":0,"ts":{},"args":{{"W":{:.3f}}}}})", json_quoted(name), power_pid,
                     microseconds_text(ns), watts);
}

bool put_row(const Row& row, const Profile& profile, const ProfileEnergySource& source, std::int64_t base_ns,
             const std::function<bool(const std::string&)>& put) {
  const Row* rows[] = {&row};
  const Interval when{source.clock.at(profile.begin), source.clock.at(profile.end)};
  const Duration step = std::max(reading_interval(rows), nanoseconds(1000));
  const Grid grid = grid_over(when, std::min(step, when.length()), most_points);
  const std::vector<double> watts = power_series(rows, grid, Duration{});
  const std::string name = "power " + row.component.path();
  bool known = false;
  for (std::size_t i = 0; i < grid.count; ++i) {
    const std::int64_t at = grid.edge(i).ns - source.clock.offset_ns - base_ns;
    if (std::isfinite(watts[i]) && !put(counter(name, at, watts[i]))) return false;
    // A counter holds its last value: where nothing is known it must not.
    if (!std::isfinite(watts[i]) && known && !put(counter(name + " (not known from here)", at, 0))) return false;
    known = std::isfinite(watts[i]);
  }
  return true;
}

}  // namespace

std::string microseconds_text(std::int64_t ns) {
  const std::uint64_t size = ns < 0 ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  return fmt::format("{}{}.{:03}", ns < 0 ? "-" : "", size / 1000, size % 1000);
}

bool put_power_counters(const Profile& profile, const ProfileEnergySource& source, std::int64_t base_ns,
                        const std::function<bool(const std::string&)>& put) {
  if (!put(fmt::format(R"({{"ph":"M","name":"process_name","pid":{},"tid":0,"args":{{"name":"joulery: power"}}}})", power_pid)))
    return false;
  for (const Row& row : source.ledger.rows())
    if (row.track && !put_row(row, profile, source, base_ns, put)) return false;
  return true;
}

}  // namespace joulery
