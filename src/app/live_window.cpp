#include "app/live_window.h"

#include <algorithm>
#include <string>

namespace joulery {
namespace {

bool has(const RecordedDevice& device, std::initializer_list<Measurand> wanted) {
  return std::ranges::any_of(device.channels,
                             [&](const Channel& channel) { return std::ranges::find(wanted, channel.measurand) != wanted.end(); });
}

// A device that stands in a read longer than this after the others is not waited for.
constexpr Duration patience = milliseconds(2000);

MonoTime middle(const Reading& first, const Reading& last) { return {(first.before.ns + last.after.ns) / 2}; }

}  // namespace

LiveWindow::LiveWindow(std::vector<RecordedDevice> devices, std::size_t rounds)
    : devices_(std::move(devices)), most_(rounds), rounds_(devices_.size()) {
  for (const RecordedDevice& device : devices_) awaited_.push_back(has(device, {Measurand::energy, Measurand::power}));
  if (std::ranges::find(awaited_, true) == awaited_.end())
    for (std::size_t d = 0; d < devices_.size(); ++d) awaited_[d] = has(devices_[d], {Measurand::busy_time});
}

void LiveWindow::take(const Round& round) {
  const std::scoped_lock lock(mutex_);
  auto& kept = rounds_[round.device];
  kept.emplace_back(round.readings.begin(), round.readings.end());
  if (kept.size() > most_) kept.pop_front();
}

void LiveWindow::suspended(const Suspension& suspension) {
  const std::scoped_lock lock(mutex_);
  suspensions_.push_back(suspension);
  if (suspensions_.size() > most_) suspensions_.pop_front();
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
