#include "record/import/snapshots.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/units.h"

namespace joulery {

Result<WallTime> assumed_time(std::size_t index, std::size_t count, const ImportOptions& options) {
  if (count > 1 && options.interval <= Duration{})
    return fail(ErrorCode::format, "the log holds no times", fmt::format("{} snapshots", count),
                "say how far apart they are: --interval 1s");
  return WallTime{} + nanoseconds(options.interval.base_units() * static_cast<std::int64_t>(index));
}

void note_assumed_times(ImportedLog& log, const ImportOptions& options) {
  log.has_wall_clock = false;
  log.notes.push_back("times-assumed: " + to_text(options.interval));
}

LoggedDevice energy_over(std::string kind, std::string name, Channel channel, LoggedInterval when, LoggedValue microjoules) {
  LoggedDevice device{std::move(kind), std::move(name), {std::move(channel)}, {}};
  device.lines.push_back({when.begin, {LoggedValue{0, microjoules.reason}}});
  device.lines.push_back({when.end, {microjoules}});
  return device;
}

Channel energy_channel(std::string component, Accuracy accuracy) {
  Channel channel;
  channel.component = Component(std::move(component));
  channel.name = "energy";
  channel.measurand = Measurand::energy;
  channel.behaviour = Behaviour::counter;
  channel.unit = 1e-6;
  channel.accuracy = accuracy;
  return channel;
}

}  // namespace joulery
