#include "record/import/write_log.h"

#include <algorithm>

namespace joulery {
namespace {

// The usual time between two lines.
Duration spacing(const LoggedDevice& device) {
  if (device.lines.size() < 2) return {};
  return nanoseconds((device.lines.back().at - device.lines.front().at).base_units() / static_cast<std::int64_t>(device.lines.size() - 1));
}

}  // namespace

LogClock::LogClock(const ImportedLog& log) {
  bool any = false;
  const auto include = [&](WallTime begin, WallTime end) {
    first_ = any ? std::min(first_, begin) : begin;
    last_ = any ? std::max(last_, end) : end;
    any = true;
  };
  for (const LoggedDevice& device : log.devices)
    if (!device.lines.empty()) include(device.lines.front().at, device.lines.back().at);
  if (log.run) include(log.run->begin, log.run->end);
}

std::vector<RecordedDevice> recorded_devices(const ImportedLog& log) {
  std::vector<RecordedDevice> devices;
  for (const LoggedDevice& device : log.devices) devices.push_back({device.kind, device.name, spacing(device), device.channels});
  return devices;
}

}  // namespace joulery
