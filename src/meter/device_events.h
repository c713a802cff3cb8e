// What befalls a device while it is read: it falls silent and comes back, or a counter that never wraps begins again (a driver that was
// loaded anew, a device that was reset). The readings say it too; an event says it once, from when to when.
//
// Invariant: take() is called with every round of the device, in order.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "meter/round.h"
#include "sense/channel.h"

namespace joulery {

struct DeviceEvent {
  Interval when;
  std::string kind;    // "device lost", "device silent", "counter fell"
  std::string detail;  // "no answer in time", "energy from 5.2 kJ to 0 J"
  std::int64_t count = 0;  // rounds without any reading
};

class DeviceEvents {
 public:
  explicit DeviceEvents(std::span<const Channel> channels);

  // What this round ends or shows; mostly nothing.
  std::vector<DeviceEvent> take(std::span<const Reading> readings);
  // The same, and says so at once, where nothing can have happened: nearly always, for a device whose counters wrap.
  bool nothing_happened(std::span<const Reading> readings) const {
    return counters_.empty() && !silent_since_ && !readings.empty() && readings.front().ok();
  }
  // A silence that lasts until the end.
  std::optional<DeviceEvent> finish();

 private:
  DeviceEvent silence(MonoTime until) const;
  void watch_counters(std::span<const Reading> readings, std::vector<DeviceEvent>& events);

  // A counter that never wraps, and its last reading.
  struct Counter {
    std::size_t channel = 0;
    std::string name;
    double unit = 1;
    std::optional<std::int64_t> last = {};
  };
  std::vector<Counter> counters_;
  std::optional<MonoTime> silent_since_;
  MissingReason why_ = MissingReason::none;
  std::int64_t silent_rounds_ = 0;
  MonoTime end_, last_good_;
};

}  // namespace joulery
