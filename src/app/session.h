// A stretch of a program that measures itself: the meters of this machine, read by threads of our own, into memory.
// What python's joulery.measure() stands on.
//
// Invariant: start() and stop() belong to one process; a forked child has none of the threads and must not touch the
// session (belongs_here() tells). The figures are those of the whole machine, whoever else works on it.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "app/live_energy.h"
#include "app/live_window.h"
#include "core/cpu_identity.h"
#include "core/machine_kind.h"
#include "core/result.h"
#include "joulery/joulery.h"
#include "judge/report.h"
#include "ledger/ledger.h"
#include "meter/round.h"
#include "meter/sampler.h"
#include "record/memory_recording.h"
#include "sense/machine.h"

namespace joulery {

class Session final : public RoundConsumer {
 public:
  // Finds the meters and reads each once. `interval`: 1 ms to 1 h (usage error otherwise). `name` is told in the report in
  // place of a command. A machine without meters is no error: its report says what is missing, or is an estimate.
  static Result<std::unique_ptr<Session>> start(const Machine& machine, Duration interval, std::string name);
  ~Session() override;

  // From now on the session keeps a sum of what it has burnt, for so_far(). Once, right after start().
  void tell_so_far();
  // What was burnt from start() until the last readings; nothing is known where tell_so_far() was not called. By any thread.
  joulery_energy so_far();

  // Judges the time from start() until the last readings, and goes on. The part that no reading has seen yet is left out.
  Result<Report> report_so_far();

  // Reads each meter a last time and judges the time since start(). Once.
  Result<Report> stop();
  bool belongs_here() const;

  void take(const Round& round) override;
  void missed(std::size_t device, MonoTime at, std::int64_t count) override;
  void suspended(const Suspension& suspension) override;

 private:
  Session(const Machine& machine, Discovery discovery, Duration interval, std::string name);
  Result<Report> judge(MemoryRecording& recording, MonoTime end) const;
  void sum_up();

  pid_t owner_;
  std::string name_;
  Duration interval_;
  CpuIdentity identity_;
  MachineKind kind_;
  std::vector<MissingPart> missing_;
  std::vector<Device> devices_;
  std::mutex mutex_;                // guards recording_: devices of different speed are read by different threads
  MemoryRecording recording_;
  std::optional<LiveWindow> window_;  // the last rounds, and the sum that so_far() tells of them, where it is kept
  std::optional<LiveEnergy> burnt_;
  std::mutex telling_;                // guards burnt_
  std::atomic<bool> tells_ = false;
  MonoTime summed_at_;
  MonoTime begin_;
  Sampler sampler_;                   // the last member
};

}  // namespace joulery
