// Between the sampler and the recording: rounds and what happened to them go into the writer's memory.
#pragma once

#include <span>

#include "meter/round.h"
#include "record/recording.h"
#include "sense/meter.h"

namespace joulery {

template <class Writer>
class Recorder final : public RoundConsumer {
 public:
  explicit Recorder(Writer& writer) : writer_(writer) {}
  void take(const Round& round) override { writer_.add(round); }
  void missed(std::size_t device, MonoTime at, std::int64_t count) override {
    writer_.add(RecordedEvent{{at, at}, "missed", "device " + std::to_string(device), count});
  }
  void processes(std::size_t device, MonoTime at, std::span<const DeviceProcess> users) override {
    for (const DeviceProcess& user : users) writer_.add(DeviceProcessSample{device, at, user});
  }
  void suspended(const Suspension& suspension) override {
    writer_.add(RecordedEvent{{suspension.at, suspension.at}, "suspended", "", suspension.length.base_units()});
  }

 private:
  Writer& writer_;
};

}  // namespace joulery
