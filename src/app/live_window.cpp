#include "app/live_window.h"

#include <algorithm>
#include <string>

namespace joulery {

namespace {

bool has(const RecordedDevice& device, std::initializer_list<Measurand> wanted) {
  return std::ranges::any_of(device.channels,
                             [&](const Channel& channel) { return std::ranges::find(wanted, channel.measurand) != wanted.end(); });
}

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
  MonoTime until{INT64_MAX};
  for (std::size_t d = 0; d < rounds_.size(); ++d)
    if (const auto& kept = rounds_[d]; awaited_[d] && !kept.empty())
      until = std::min(until, MonoTime{(kept.back().front().before.ns + kept.back().back().after.ns) / 2});
  return until;
}

}  // namespace joulery
