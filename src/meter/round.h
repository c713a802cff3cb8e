// One round: every channel of one device read once. What the sampler gives and the recording keeps.
#pragma once

#include <cstdint>
#include <span>

#include "meter/gap.h"
#include "sense/device_process.h"
#include "sense/reading.h"

namespace joulery {

struct Round {
  std::size_t device = 0;              // index into the sampler's list of devices
  MonoTime deadline;                   // when the round was due; readings are stamped with when they happened
  std::span<const Reading> readings;   // one per channel, in the meter's order; valid during the call only
};

// Takes rounds from the sampler's threads, one call at a time per device, in their order; must not block. Rounds that are less than
// some milliseconds apart come together, the first of them so much late.
class RoundConsumer {
 public:
  virtual ~RoundConsumer() = default;
  virtual void take(const Round& round) = 0;
  // `count` deadlines of `device` passed unread before `at`.
  virtual void missed(std::size_t device, MonoTime at, std::int64_t count) = 0;
  virtual void suspended(const Suspension& suspension) = 0;
  // Who used `device` at `at`, as it told; valid during the call only.
  virtual void processes(std::size_t, MonoTime, std::span<const DeviceProcess>) {}
};

}  // namespace joulery
