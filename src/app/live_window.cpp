#include "app/live_window.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "meter/counter.h"

namespace joulery {
namespace {

bool has(const RecordedDevice& device, std::initializer_list<Measurand> wanted) {
  return std::ranges::any_of(device.channels,
                             [&](const Channel& channel) { return std::ranges::find(wanted, channel.measurand) != wanted.end(); });
}

bool only_counts(const RecordedDevice& device) {
  return std::ranges::all_of(device.channels, [](const Channel& channel) { return channel.behaviour == Behaviour::counter; });
}

// A device that stands in a read longer than this after the others is not waited for.
constexpr Duration patience = milliseconds(2000);
constexpr std::size_t least_kept = 16, suspensions_kept = 64;

MonoTime middle(const Reading& first, const Reading& last) { return {(first.before.ns + last.after.ns) / 2}; }

}  // namespace

LiveWindow::LiveWindow(std::vector<RecordedDevice> devices, std::size_t rounds, Duration spacing)
    : devices_(std::move(devices)), next_(devices_.size(), MonoTime{INT64_MIN}), rounds_(devices_.size()) {
  for (RecordedDevice& device : devices_) {
    spacing_.push_back(spacing > Duration{} && only_counts(device) ? safe_interval(device.channels, spacing) : Duration{});
    const Duration apart = std::max(device.interval, spacing_.back());
    most_.push_back(std::max(least_kept, static_cast<std::size_t>(static_cast<double>(rounds) * (device.interval / apart))));
    device.interval = apart;
  }
  for (const RecordedDevice& device : devices_) awaited_.push_back(has(device, {Measurand::energy, Measurand::power}));
  if (std::ranges::find(awaited_, true) == awaited_.end())
    for (std::size_t d = 0; d < devices_.size(); ++d) awaited_[d] = has(devices_[d], {Measurand::busy_time});
}

void LiveWindow::keep(const Round& round) {
  if (const Duration spacing = spacing_[round.device]; spacing > Duration{}) next_[round.device] = round.deadline + spacing;
  const std::scoped_lock lock(mutex_);
  auto& kept = rounds_[round.device];
  kept.emplace_back(round.readings.begin(), round.readings.end());
  if (kept.size() > most_[round.device]) kept.pop_front();
}

void LiveWindow::suspended(const Suspension& suspension) {
  const std::scoped_lock lock(mutex_);
  suspensions_.push_back(suspension);
  if (suspensions_.size() > suspensions_kept) suspensions_.pop_front();
}

MemoryRecording LiveWindow::recording(Interval when) const {
  MemoryRecording recording(devices_);
  const std::scoped_lock lock(mutex_);
  for (std::size_t d = 0; d < rounds_.size(); ++d)
    for (const Readings& readings : rounds_[d]) recording.add(Round{d, readings.front().before, readings});
  for (const Suspension& s : suspensions_) recording.add(RecordedEvent{{s.at, s.at}, "suspended", "", s.length.base_units()});
  recording.set({{"run_begin_ns", std::to_string(when.begin.ns)}, {"run_end_ns", std::to_string(when.end.ns)}});
  return recording;
}

MonoTime LiveWindow::complete_until() const {
  const std::scoped_lock lock(mutex_);
  std::vector<MonoTime> last(rounds_.size());
  MonoTime latest{INT64_MIN};
  for (std::size_t d = 0; d < rounds_.size(); ++d) {
    if (!awaited_[d] || rounds_[d].empty()) continue;
    last[d] = middle(rounds_[d].back().front(), rounds_[d].back().back());
    latest = std::max(latest, last[d]);
  }
  MonoTime until{INT64_MAX};
  for (std::size_t d = 0; d < rounds_.size(); ++d) {
    const Duration allowed = std::max(patience, nanoseconds(2 * devices_[d].interval.base_units()));
    if (awaited_[d] && !rounds_[d].empty() && latest - last[d] <= allowed) until = std::min(until, last[d]);
  }
  return until;
}

}  // namespace joulery
