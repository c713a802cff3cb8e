// The last rounds of every device, kept while the sampler runs: what `joulery log` makes its lines of.
#pragma once

#include <deque>
#include <mutex>
#include <vector>

#include "meter/round.h"
#include "record/memory_recording.h"

namespace joulery {

class LiveWindow final : public RoundConsumer {
 public:
  // Keeps `rounds` rounds of each device: enough to see whether a counter fell or only stumbled. A device that only counts loses
  // nothing between two rounds that are kept, so of its rounds those at least `spacing` apart do, as far as no counter wraps sooner.
  LiveWindow(std::vector<RecordedDevice> devices, std::size_t rounds, Duration spacing = {});

  [[gnu::hot]] void take(const Round& round) override {
    if (round.deadline >= next_[round.device]) keep(round);
  }
  void missed(std::size_t, MonoTime, std::int64_t) override {}
  void suspended(const Suspension& suspension) override;

  // What is kept now, as a recording of a run from `when.begin` to `when.end`.
  MemoryRecording recording(Interval when) const;
  // Until when every device that tells energy has been read (or, where none does, the CPUs' busy time): the latest
  // instant about which all is known. One that has not answered for two seconds, or two of its intervals, is not waited for.
  MonoTime complete_until() const;

 private:
  void keep(const Round& round);

  using Readings = std::vector<Reading>;
  std::vector<RecordedDevice> devices_;
  std::vector<std::size_t> most_;             // by device: rounds that are kept
  std::vector<Duration> spacing_;             // by device: between rounds that are kept
  std::vector<MonoTime> next_;                // by device: no round before is kept; only its sampling thread looks
  std::vector<bool> awaited_;                 // by device: whether complete_until() waits for it
  mutable std::mutex mutex_;
  std::vector<std::deque<Readings>> rounds_;  // by device
  std::deque<Suspension> suspensions_;
};

}  // namespace joulery
