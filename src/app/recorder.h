// Between the sampler and the recording: rounds and what happened to them go into the writer's memory.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "app/live_window.h"
#include "meter/device_events.h"
#include "meter/round.h"
#include "record/recording.h"
#include "sense/meter.h"

namespace joulery {

// The sampler wants its consumer first, and the writer the sampler's intervals: `writer` is set before the sampler starts.
template <class Writer>
class Recorder final : public RoundConsumer {
 public:
  explicit Recorder(const std::vector<Device>& devices) {
    for (const Device& device : devices) watched_.push_back({device.kind + " " + device.name, DeviceEvents(device.meter->channels())});
  }

  Writer* writer = nullptr;
  LiveWindow* live = nullptr;  // sees the rounds too, where somebody watches
  [[gnu::hot]] void take(const Round& round) override {
    writer->add(round);
    if (DeviceEvents& events = watched_[round.device].events; !events.nothing_happened(round.readings))
      for (DeviceEvent& event : events.take(round.readings)) tell(round.device, std::move(event));
    if (live) live->take(round);
  }
  void missed(std::size_t device, MonoTime at, std::int64_t count) override {
    writer->add(RecordedEvent{{at, at}, "missed", "device " + std::to_string(device), count});
  }
  void processes(std::size_t device, MonoTime at, std::span<const DeviceProcess> users) override {
    for (const DeviceProcess& user : users) writer->add(DeviceProcessSample{device, at, user});
  }
  void suspended(const Suspension& suspension) override {
    writer->add(RecordedEvent{{suspension.at, suspension.at}, "suspended", "", suspension.length.base_units()});
    if (live) live->suspended(suspension);
  }

  // Tells what lasts until the end; call it when the sampler has stopped. Gives the flags that the report must carry.
  std::vector<std::string> finish() {
    for (std::size_t device = 0; device < watched_.size(); ++device)
      if (auto event = watched_[device].events.finish()) tell(device, *std::move(event));
    return std::move(flags_);
  }

 private:
  struct Watched {
    std::string name;
    DeviceEvents events;
  };

  // Rare; by any thread.
  void tell(std::size_t device, DeviceEvent event) {
    const std::string detail = watched_[device].name + ": " + event.detail;
    const std::lock_guard lock(telling_);
    if (event.kind == "counter fell") flags_.push_back("counter-fell: " + detail);
    writer->add(RecordedEvent{event.when, std::move(event.kind), detail, event.count});
  }

  std::vector<Watched> watched_;
  std::mutex telling_;
  std::vector<std::string> flags_;
};

}  // namespace joulery
