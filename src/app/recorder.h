// Between the sampler and the recording: rounds and what happened to them go into the writer's memory.
#pragma once

#include <string>

#include "app/live_window.h"
#include "meter/round.h"
#include "record/recording.h"

namespace joulery {

// The sampler wants its consumer first, and the writer the sampler's intervals: `writer` is set before the sampler starts.
template <class Writer>
class Recorder final : public RoundConsumer {
 public:
  Writer* writer = nullptr;
  LiveWindow* live = nullptr;  // sees the rounds too, where somebody watches
  void take(const Round& round) override {
    writer->add(round);
    if (live) live->take(round);
  }
  void missed(std::size_t device, MonoTime at, std::int64_t count) override {
    writer->add(RecordedEvent{{at, at}, "missed", "device " + std::to_string(device), count});
  }
  void suspended(const Suspension& suspension) override {
    writer->add(RecordedEvent{{suspension.at, suspension.at}, "suspended", "", suspension.length.base_units()});
    if (live) live->suspended(suspension);
  }
};

}  // namespace joulery
