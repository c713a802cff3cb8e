// The recording that `joulery serve-watch` makes: the machine's meters, and what the watched server did as marks of work, for as
// long as it watches. The counterpart of app/measurement, without a command of its own.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/live_energy.h"
#include "app/recorder.h"
#include "core/result.h"
#include "ledger/run_facts.h"
#include "meter/sampler.h"
#include "record/recording.h"
#include "sense/meter.h"

namespace joulery {

class ServeSession {
 public:
  // Creates the recording and begins to read the meters. Errors: those of RecordingWriter::create.
  static Result<std::unique_ptr<ServeSession>> start(std::vector<Device> devices, const std::string& path, RunFacts facts);
  ~ServeSession();

  void set_baseline(Interval quiet) { facts_.baseline = quiet; }
  // The run begins; what came before is not told.
  void begin(MonoTime at);
  MonoTime begun() const { return facts_.run ? facts_.run->begin : MonoTime{}; }
  // So much of `unit` was done by then: "output token".
  void add_work(const std::string& unit, double count, MonoTime at);
  void add_figure(const std::string& name, double value, MonoTime at);
  void note(std::string flag) { facts_.notes.push_back(std::move(flag)); }
  // Once a second.
  Result<void> flush() { return writer_->flush(); }
  LiveEnergy::Told burnt();
  // The live window, for what is told while it runs.
  const LiveWindow& window() const { return window_; }
  // Reads each meter a last time and closes the recording. Errors: those of RecordingWriter::close.
  Result<void> stop(MonoTime end);
  const RunFacts& facts() const { return facts_; }

 private:
  ServeSession(std::vector<Device> devices, RunFacts facts);
  RunFacts facts_;
  std::vector<Device> devices_;
  Recorder<RecordingWriter> recorder_;
  std::unique_ptr<RecordingWriter> writer_;
  Sampler sampler_;
  LiveWindow window_;
  LiveEnergy energy_;
};

}  // namespace joulery
