// One measured run of a command: meters, marks and processes into a recording, from before it starts until after it ends.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/live_energy.h"
#include "core/result.h"
#include "ledger/run_facts.h"
#include "meter/sampler.h"
#include "record/recording.h"
#include "sense/meter.h"
#include "watch/child.h"
#include "watch/signal_gate.h"

namespace joulery {

struct MeasurementPlan {
  std::vector<std::string> command;
  std::string recording;                 // path of the file to make
  Duration interval;                     // 1 ms to 1 h
  Duration baseline;                     // quiet time before the command; 0: none
  std::vector<std::pair<std::string, std::string>> environment = {};  // that the command is given beside ours
  // Called when the command has ended, before the recording is closed: for what is known only then.
  std::function<void(RunFacts&)> at_end = {};
  RunFacts facts;                        // what is known beforehand: command, machine, missing parts, factors, work
};

struct MeasurementEnd {
  int exit_code = 0;                     // as a shell gives it, or exit_own_failure
  bool started = false;                  // false: the command never ran, and no recording is left
  bool interrupted = false;              // asked to end before the command started
  std::optional<Error> error;            // why it never ran, or what could not be recorded and where that is now
  std::string recording = {};            // where the recording is: not the plan's path where its disk was full
};

// Called about once a second while the command runs, with what it has burnt.
using Progress = std::function<void(Duration elapsed, const LiveEnergy::Told& burnt)>;

MeasurementEnd measure(const MeasurementPlan& plan, std::vector<Device>& devices, const SignalGate& gate, const Progress& progress);

// What a recording must remember of the devices that a sampler reads.
std::vector<RecordedDevice> recorded_devices(const std::vector<Device>& devices, const Sampler& sampler);

// What a machine lacks, from what was looked for: the parts that burn and that nothing measures, each with the reason.
std::vector<MissingPart> missing_parts(const Discovery& discovery);

}  // namespace joulery
