#include "meter/device_events.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/units.h"

namespace joulery {

DeviceEvents::DeviceEvents(std::span<const Channel> channels) {
  for (std::size_t i = 0; i < channels.size(); ++i)
    if (channels[i].measurand == Measurand::energy && channels[i].behaviour == Behaviour::counter && channels[i].range == 0)
      counters_.push_back({i, channels[i].name, channels[i].unit});
}

DeviceEvent DeviceEvents::silence(MonoTime until) const {
  return {{*silent_since_, until},
          why_ == MissingReason::device_lost ? "device lost" : "device silent",
          std::string(describe(why_)),
          silent_rounds_};
}

void DeviceEvents::watch_counters(std::span<const Reading> readings, std::vector<DeviceEvent>& events) {
  for (Counter& counter : counters_) {
    if (counter.channel >= readings.size() || !readings[counter.channel].ok()) continue;
    const std::int64_t raw = readings[counter.channel].raw;
    if (counter.last && raw < *counter.last) {
      const auto told = [&](std::int64_t counts) { return to_text(joules(static_cast<double>(counts) * counter.unit)); };
      events.push_back({{last_good_, readings[counter.channel].after},
                        "counter fell",
                        fmt::format("{} from {} to {}", counter.name, told(*counter.last), told(raw)),
                        0});
    }
    counter.last = raw;
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
