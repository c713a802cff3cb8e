#include "ledger/timeline.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "core/parallel.h"
#include "meter/counter.h"
#include "meter/gauge.h"

namespace joulery {
namespace {

std::optional<MonoTime> instant(const Metadata& metadata, const std::string& name) {
  const auto found = metadata.find(name);
  if (found == metadata.end()) return std::nullopt;
  std::int64_t ns = 0;
  const std::string& text = found->second;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), ns);
  if (failed != std::errc{}) return std::nullopt;
  return MonoTime{ns};
}

std::optional<Interval> interval_of(const Metadata& metadata, const std::string& name) {
  const auto begin = instant(metadata, name + "_begin_ns"), end = instant(metadata, name + "_end_ns");
  if (!begin || !end || *end <= *begin) return std::nullopt;
  return Interval{*begin, *end};
}

// The tracks of a timeline that are still to be made, each of its own column: so all can be made at once.
struct Work {
  const std::vector<MonoTime>* times;
  Series::Column* column;
};

// A channel was read somewhere within its round; the middle is the best single instant. Takes the series' own times.
std::vector<MonoTime> take_middles(Series& series) {
  std::vector<MonoTime> times = std::move(series.before);
  for (std::size_t i = 0; i < times.size(); ++i) times[i] = {times[i].ns + (series.after[i].ns - times[i].ns) / 2};
  series.after = {};
  return times;
}

bool tells_energy(const Channel& channel) {
  return (channel.measurand == Measurand::energy && channel.behaviour == Behaviour::counter) ||
         (channel.measurand == Measurand::power && channel.behaviour == Behaviour::gauge);
}

// A sensor whose window is shorter than its period sees a part of the time.
bool sees_a_part(const Channel& channel) {
  return channel.behaviour == Behaviour::gauge && channel.averaging_window > Duration{} && channel.averaging_window < channel.update_period;
}

std::vector<GaugeUpdate> updates_of(const Channel& channel, const std::vector<MonoTime>& times, const Series::Column& column) {
  std::vector<GaugeUpdate> updates;
  if (!sees_a_part(channel)) return updates;
  std::optional<std::int64_t> before;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (!column.reason.empty() && column.reason[i] != MissingReason::none) continue;
    if (before && *before != column.raw[i]) updates.push_back({times[i], static_cast<double>(column.raw[i]) * channel.unit});
    before = column.raw[i];
  }
  return updates;
}

// Kinds of log whose figures are another tool's estimates, or hold some that cannot be told from what was measured.
Quality known_as(const std::string& kind) { return kind == "codecarbon" ? Quality::estimated : Quality::measured; }

Track track_of(const Channel& channel, const std::vector<MonoTime>& times, Series::Column& column,
               std::span<const Suspension> suspensions) {
  if (channel.behaviour == Behaviour::counter) return unwrap_counter(channel, times, std::move(column.raw), column.reason, suspensions);
  return integrate_gauge(channel, times, column.raw, column.reason);
}

// The busy time of all CPUs from the channel "busy" of node/cpu, a counter of seconds.
std::optional<CpuActivity> activity_of(const RecordedDevice& device, const std::vector<MonoTime>& times, Series& series, int threads) {
  const auto busy = std::ranges::find_if(device.channels, [](const Channel& c) {
    return c.component.path() == "node/cpu" && c.measurand == Measurand::busy_time && c.name == "busy";
  });
  if (busy == device.channels.end() || times.empty() || threads < 1) return std::nullopt;
  Series::Column& column = series.columns[static_cast<std::size_t>(busy - device.channels.begin())];
  const Track track = unwrap_counter(*busy, times, std::move(column.raw), column.reason, {});
  if (track.empty()) return std::nullopt;
  CpuActivity activity{&times, {}, threads};
  activity.busy_seconds.reserve(times.size());
  // The channel's unit is a second per count, so a track's "joules" are seconds here.
  for (const MonoTime t : times) activity.busy_seconds.push_back(to_joules(track.position(t)));
  return activity;
}

}  // namespace

// The samples first: who has unpacked them need not be asked again, by events(), whether they are whole.
Result<Timeline> Timeline::from(const Recording& recording, int threads) {
  Timeline timeline;
  std::vector<Series> all;
  for (std::size_t d = 0; d < recording.devices().size(); ++d) {
    auto series = recording.series(d);
    if (!series) return std::unexpected(series.error());
    timeline.times_.push_back(std::make_unique<const std::vector<MonoTime>>(take_middles(*series)));
    all.push_back(*std::move(series));
  }
  const auto events = recording.events();
  if (!events) return std::unexpected(events.error());
  for (const RecordedEvent& event : *events) {
    if (event.kind == "suspended") timeline.suspensions.push_back({event.when.begin, nanoseconds(event.count)});
    if (event.kind == "missed") timeline.missed += event.count;
  }
  MonoTime last{};
  std::vector<Work> work;
  for (std::size_t d = 0; d < recording.devices().size(); ++d) {
    const RecordedDevice& device = recording.devices()[d];
    const std::vector<MonoTime>& times = *timeline.times_[d];
    if (!times.empty()) last = std::max(last, times.back());
    timeline.rounds = std::max(timeline.rounds, static_cast<std::int64_t>(times.size()));
    if (d == 0 || device.interval < timeline.interval) timeline.interval = device.interval;
    if (const auto activity = activity_of(device, times, all[d], threads)) timeline.cpu = activity;
    for (AcceleratorLoad& load : accelerator_loads(device, times, all[d])) timeline.accelerators.push_back(std::move(load));
    for (std::size_t c = 0; c < device.channels.size(); ++c)
      if (tells_energy(device.channels[c])) {
        work.push_back({&times, &all[d].columns[c]});
        timeline.sources.push_back({device.kind, device.name, device.channels[c], Track(), {}});
      }
  }
  const auto make_track = [&](std::size_t i) {
    EnergySource& source = timeline.sources[i];
    source.updates = updates_of(source.channel, *work[i].times, *work[i].column);
    source.track = track_of(source.channel, *work[i].times, *work[i].column, timeline.suspensions);
    source.track.worsen(known_as(source.meter));
  };
  for_each_index(work.size(), make_track, helpers_for(work.size() * static_cast<std::size_t>(timeline.rounds)));
  const auto run_begin = instant(recording.metadata(), "run_begin_ns"), run_end = instant(recording.metadata(), "run_end_ns");
  timeline.run_ended = run_end.has_value();
  timeline.run.begin =
      run_begin.value_or(timeline.times_.empty() || timeline.times_.front()->empty() ? MonoTime{} : timeline.times_.front()->front());
  timeline.run.end = std::max(timeline.run.begin, run_end.value_or(last));
  timeline.baseline = interval_of(recording.metadata(), "baseline");
  return timeline;
}

}  // namespace joulery
