#include "meter/device_events.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/units.h"

namespace joulery {

DeviceEvents::DeviceEvents(std::span<const Channel> channels) : channels_(channels.begin(), channels.end()), last_(channels.size()) {}

DeviceEvent DeviceEvents::silence(MonoTime until) const {
  return {{*silent_since_, until},
          why_ == MissingReason::device_lost ? "device lost" : "device silent",
          std::string(describe(why_)),
          silent_rounds_};
}

void DeviceEvents::watch_counters(std::span<const Reading> readings, std::vector<DeviceEvent>& events) {
  for (std::size_t i = 0; i < readings.size() && i < channels_.size(); ++i) {
    const Channel& channel = channels_[i];
    if (channel.measurand != Measurand::energy || channel.behaviour != Behaviour::counter || channel.range != 0 || !readings[i].ok())
      continue;
    if (last_[i] && readings[i].raw < *last_[i]) {
      const auto joules_of = [&](std::int64_t raw) { return to_text(joules(static_cast<double>(raw) * channel.unit)); };
      events.push_back({{last_good_, readings[i].after},
                        "counter fell",
                        fmt::format("{} from {} to {}", channel.name, joules_of(*last_[i]), joules_of(readings[i].raw)),
                        0});
    }
    last_[i] = readings[i].raw;
  }
}

std::vector<DeviceEvent> DeviceEvents::take(std::span<const Reading> readings) {
  std::vector<DeviceEvent> events;
  if (readings.empty()) return events;
  end_ = readings.back().after;
  if (std::ranges::none_of(readings, &Reading::ok)) {
    if (!silent_since_) silent_since_ = readings.front().before, why_ = readings.front().reason, silent_rounds_ = 0;
    ++silent_rounds_;
    return events;
  }
  if (silent_since_) events.push_back(silence(readings.front().before));
  silent_since_.reset();
  watch_counters(readings, events);
  last_good_ = readings.front().before;
  return events;
}

std::optional<DeviceEvent> DeviceEvents::finish() { return silent_since_ ? std::optional(silence(end_)) : std::nullopt; }

}  // namespace joulery
