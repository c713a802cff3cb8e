// A recording as functions of time: one Track per channel that tells energy, the busy time of the CPUs, and what
// happened to the measuring.
//
// Invariant: tracks point into the timeline's own columns of time; a Timeline moves, but is never copied.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ledger/accelerator_load.h"
#include "meter/track.h"
#include "record/recording.h"

namespace joulery {

// A reading of a gauge that differs from the one before: the device has refreshed it.
struct GaugeUpdate {
  MonoTime at;
  double watts = 0;
};

// One way to know a component's energy; several may tell the same component.
struct EnergySource {
  std::string meter;      // "rapl.powercap"
  std::string device;     // "package-0"
  Channel channel;
  Track track;
  std::vector<GaugeUpdate> updates;  // of a power sensor that does not see all of the time; empty for others
};

// Busy CPU seconds since the recording began, and how many CPUs share them.
struct CpuActivity {
  const std::vector<MonoTime>* times = nullptr;
  std::vector<double> busy_seconds;
  int threads = 0;
};

class Timeline {
 public:
  // `threads`: logical CPUs of the machine, which share the busy time. Errors: those of Recording.
  static Result<Timeline> from(const Recording& recording, int threads);

  Interval run;                             // from CMD's start to its end, or to the last reading where it never ended
  bool run_ended = false;
  std::optional<Interval> baseline;         // a quiet stretch before the run, where one was measured
  std::vector<EnergySource> sources;        // in the recording's order, which is that of preference
  std::optional<CpuActivity> cpu;
  std::vector<AcceleratorLoad> accelerators;  // that tell no energy
  std::vector<Suspension> suspensions;
  Duration interval;                        // the shortest at which any device was read
  std::int64_t rounds = 0, missed = 0;      // of the device that was read most often; of all devices

 private:
  std::vector<std::unique_ptr<const std::vector<MonoTime>>> times_;
};

}  // namespace joulery
