#include "app/session.h"

#include <unistd.h>

#include <algorithm>

#include "app/agent_notes.h"
#include "app/loaded_run.h"
#include "app/measurement.h"
#include "app/told_energy.h"
#include "app/version.h"
#include "config/load.h"
#include "ledger/run_facts.h"
#include "meter/counter.h"
#include "sense/host/cpu_identity_reader.h"
#include "sense/host/machine_kind_reader.h"
#include "sense/meters.h"

namespace joulery {
namespace {

std::vector<RecordedDevice> remembered(const std::vector<Device>& devices, Duration interval) {
  std::vector<RecordedDevice> all;
  for (const Device& device : devices) {
    const auto channels = device.meter->channels();
    all.push_back({device.kind, device.name, safe_interval(channels, interval), {channels.begin(), channels.end()}});
  }
  return all;
}

}  // namespace

Session::Session(const Machine& machine, Discovery discovery, Duration interval, std::string name)
    : owner_(getpid()),
      name_(std::move(name)),
      interval_(interval),
      identity_(read_cpu_identity(machine)),
      kind_(read_machine_kind(machine)),
      missing_(missing_parts(discovery)),
      devices_(std::move(discovery.devices)),
      recording_(remembered(devices_, interval)),
      sampler_(devices_, interval, *this) {
  window_.emplace(recorded_devices(devices_, sampler_), LiveEnergy::rounds_for(interval));
}

// The sampler is the last member and goes first, so no round comes into a recording that is gone.
Session::~Session() = default;

Result<std::unique_ptr<Session>> Session::start(const Machine& machine, Duration interval, std::string name) {
  if (interval < milliseconds(1) || interval > seconds(3600))
    return fail(ErrorCode::usage, "the interval must lie between 1 ms and 1 h", "interval", "0.1 s suits most programs");
  const auto settings = load_settings(ConfigSources::of_this_process(), {});
  if (!settings) return std::unexpected(settings.error());
  std::unique_ptr<Session> session(new Session(machine, discover(machine, *settings, Look::quick), interval, std::move(name)));
  session->recording_.add(ClockMap::now());
  session->sampler_.start();
  session->begin_ = mono_now();
  return session;
}

// Runs beside the sampler: what it counts from then on begins with the round that start() has read.
void Session::tell_so_far() {
  auto model = power_model_of(identity_);
  burnt_.emplace(model ? std::optional(*std::move(model)) : std::nullopt, Fill::automatic, missing_, identity_.threads);
  summed_at_ = begin_;
  tells_ = true;
}

joulery_energy Session::so_far() {
  const std::scoped_lock lock(telling_);
  if (!tells_) return told_energy(begin_, {});
  (void)burnt_->since(begin_, *window_);
  summed_at_ = mono_now();
  return told_energy(begin_, burnt_->sum());
}

// The window forgets what is older than some seconds: somebody must look in time, and where nobody asks the sampler does.
void Session::sum_up() {
  const std::unique_lock lock(telling_, std::try_to_lock);
  if (!lock || mono_now() - summed_at_ < seconds(1)) return;
  (void)burnt_->since(begin_, *window_);
  summed_at_ = mono_now();
}

bool Session::belongs_here() const { return owner_ == getpid(); }

Result<Report> Session::stop() {
  const MonoTime end = mono_now();
  sampler_.stop();
  recording_.add(ClockMap::now());
  return judge(recording_, end);
}

Result<Report> Session::report_so_far() {
  std::optional<MemoryRecording> copy;
  {
    const std::scoped_lock lock(mutex_);
    copy.emplace(recording_);
  }
  copy->add(ClockMap::now());
  return judge(*copy, std::max(begin_, std::min(window_->complete_until(), mono_now())));
}

Result<Report> Session::judge(MemoryRecording& recording, MonoTime end) const {
  RunFacts facts;
  facts.version = version;
  facts.command = {name_};
  facts.exit_code = 0;
  facts.run = Interval{begin_, end};
  facts.run_ended = true;
  facts.machine = identity_;
  facts.kind = kind_;
  facts.missing = missing_;
  facts.interval = interval_;
  facts.notes = agent_notes(devices_);
  recording.set(to_metadata(facts));
  const Result<LoadedRun> run = LoadedRun::load(recording, {});
  if (!run) return std::unexpected(run.error());
  return run->report();
}

void Session::take(const Round& round) {
  {
    const std::scoped_lock lock(mutex_);
    recording_.add(round);
  }
  window_->take(round);
  if (tells_) sum_up();
}

void Session::missed(std::size_t device, MonoTime at, std::int64_t count) {
  const std::scoped_lock lock(mutex_);
  recording_.add(RecordedEvent{{at, at}, "missed", "device " + std::to_string(device), count});
}

void Session::suspended(const Suspension& suspension) {
  const std::scoped_lock lock(mutex_);
  recording_.add(RecordedEvent{{suspension.at, suspension.at}, "suspended", "", suspension.length.base_units()});
  window_->suspended(suspension);
}

}  // namespace joulery
