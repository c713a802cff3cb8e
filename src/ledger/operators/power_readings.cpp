#include "ledger/operators/power_readings.h"

#include <algorithm>

#include "meter/counter.h"

namespace joulery {
namespace {

std::vector<MonoTime> middles(const Series& series) {
  std::vector<MonoTime> times = series.before;
  for (std::size_t i = 0; i < times.size(); ++i) times[i].ns += (series.after[i].ns - times[i].ns) / 2;
  return times;
}

bool missing_at(const Series::Column& column, std::size_t i) { return !column.reason.empty() && column.reason[i] != MissingReason::none; }

std::vector<PowerReading> from_counter(const Channel& channel, const std::vector<MonoTime>& times, const Series::Column& column) {
  const Track track = unwrap_counter(channel, times, column.raw, column.reason, {});
  std::vector<PowerReading> readings;
  if (track.empty()) return readings;
  const auto counts = track.counts();
  std::size_t last = 0;
  bool known = false;  // `last` is a refresh, and not merely the first look
  for (std::size_t i = 1; i < counts.size() && i < times.size(); ++i) {
    if (counts[i] == counts[last] && channel.update_period > Duration{}) continue;
    const Interval when{times[last], times[i]};
    if ((known || channel.update_period == Duration{}) && !when.empty() && !track.incomplete(when, Duration{}))
      readings.push_back({when, static_cast<double>(counts[i] - counts[last]) * track.unit() / to_seconds(when.length())});
    last = i, known = true;
  }
  return readings;
}

std::vector<PowerReading> from_gauge(const Channel& channel, const std::vector<MonoTime>& times, const Series::Column& column) {
  std::vector<PowerReading> readings;
  for (std::size_t i = 1; i < times.size(); ++i) {
    if (missing_at(column, i) || missing_at(column, i - 1) || column.raw[i] < 0) continue;
    const Duration step = times[i] - times[i - 1];
    if (step <= Duration{}) continue;
    const bool faster = channel.update_period > step;
    if (faster && column.raw[i] == column.raw[i - 1]) continue;  // not refreshed
    const double watts = static_cast<double>(column.raw[i]) * channel.unit;
    const Duration back = nanoseconds((faster ? step : channel.update_period).base_units() / 2);
    const Duration window =
        channel.averaging_window > Duration{} ? channel.averaging_window : nanoseconds(std::max<std::int64_t>(1, step.base_units() / 100));
    const MonoTime end = times[i] - back;
    readings.push_back({{end - window, end}, watts});
  }
  return readings;
}

}  // namespace

Result<MeterReadings> power_readings(const Recording& recording, const Component& component) {
  MeterReadings best;
  for (std::size_t d = 0; d < recording.devices().size(); ++d) {
    const RecordedDevice& device = recording.devices()[d];
    for (std::size_t c = 0; c < device.channels.size(); ++c) {
      const Channel& channel = device.channels[c];
      const bool counter = channel.measurand == Measurand::energy && channel.behaviour == Behaviour::counter;
      const bool gauge = channel.measurand == Measurand::power && channel.behaviour == Behaviour::gauge;
      if (channel.component != component || (!counter && !gauge)) continue;
      const auto series = recording.series(d);
      if (!series) return std::unexpected(series.error());
      const std::vector<MonoTime> times = middles(*series);
      std::vector<PowerReading> readings =
          counter ? from_counter(channel, times, series->columns[c]) : from_gauge(channel, times, series->columns[c]);
      if (readings.size() > best.readings.size()) best = {device.name, channel.name, std::move(readings), gauge};
    }
  }
  return best;
}

}  // namespace joulery
