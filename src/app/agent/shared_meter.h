// A meter that more than one may read: whoever reads it has it alone, and what it told last is kept for those who may not or
// need not have it read for them.
//
// Invariant: last() and last_processes() never wait for the device.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "sense/meter.h"

namespace joulery {

class SharedMeter final : public Meter {
 public:
  explicit SharedMeter(std::unique_ptr<Meter> meter) : meter_(std::move(meter)) {}

  std::span<const Channel> channels() const override { return meter_->channels(); }
  void read(Sink& sink) override {
    const std::lock_guard alone(reading_);
    meter_->read(sink);
    sink.finish();
    const std::lock_guard lock(mutex_);
    last_.assign(sink.readings().begin(), sink.readings().end());
  }
  // The device tells how busy each process kept it since it was asked last, so that one alone may ask: the sampler.
  void processes(std::vector<DeviceProcess>& to) override {
    const std::size_t before = to.size();
    {
      const std::lock_guard alone(reading_);
      meter_->processes(to);
    }
    const std::lock_guard lock(mutex_);
    processes_.assign(to.begin() + static_cast<std::ptrdiff_t>(before), to.end());
  }

  // Empty where nobody has read it yet.
  std::vector<Reading> last() const {
    const std::lock_guard lock(mutex_);
    return last_;
  }
  std::vector<DeviceProcess> last_processes() const {
    const std::lock_guard lock(mutex_);
    return processes_;
  }

 private:
  std::unique_ptr<Meter> meter_;
  std::mutex reading_;
  mutable std::mutex mutex_;  // over what follows
  std::vector<Reading> last_;
  std::vector<DeviceProcess> processes_;
};

}  // namespace joulery
