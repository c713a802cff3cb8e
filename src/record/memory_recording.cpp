#include "record/memory_recording.h"

#include <algorithm>
#include <tuple>

namespace joulery {

MemoryRecording::MemoryRecording(std::vector<RecordedDevice> devices) : devices_(std::move(devices)), series_(devices_.size()) {
  for (std::size_t d = 0; d < devices_.size(); ++d) series_[d].columns.resize(devices_[d].channels.size());
}

void MemoryRecording::add(const Round& round) {
  Series& series = series_[round.device];
  const std::size_t before = series.before.size();
  series.before.push_back(round.readings.front().before);
  series.after.push_back(round.readings.back().after);
  for (std::size_t c = 0; c < series.columns.size(); ++c) {
    Series::Column& column = series.columns[c];
    const Reading& reading = round.readings[c];
    column.raw.push_back(reading.raw);
    if (!reading.ok() && column.reason.empty()) column.reason.resize(before, MissingReason::none);
    if (!reading.ok() || !column.reason.empty()) column.reason.push_back(reading.reason);
  }
}

Result<std::vector<Mark>> MemoryRecording::marks() const {
  std::vector<Mark> sorted = marks_;
  std::ranges::stable_sort(sorted, {}, &Mark::time);
  return sorted;
}

Result<std::vector<ProcessSample>> MemoryRecording::processes() const {
  std::vector<ProcessSample> sorted = processes_;
  std::ranges::stable_sort(sorted,
                           [](const ProcessSample& a, const ProcessSample& b) { return std::tie(a.id, a.time) < std::tie(b.id, b.time); });
  return sorted;
}

}  // namespace joulery
