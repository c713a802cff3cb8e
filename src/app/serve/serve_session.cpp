#include "app/serve/serve_session.h"

#include <unistd.h>

#include "app/loaded_run.h"
#include "app/measurement.h"

namespace joulery {
namespace {

std::optional<PowerModel> model_of(const CpuIdentity& machine) {
  auto model = power_model_of(machine);
  return model ? std::optional(*std::move(model)) : std::nullopt;
}

}  // namespace

ServeSession::ServeSession(std::vector<Device> devices, RunFacts facts)
    : facts_(std::move(facts)),
      devices_(std::move(devices)),
      recorder_(devices_),
      sampler_(devices_, facts_.interval, recorder_),
      window_(recorded_devices(devices_, sampler_), LiveEnergy::rounds_for(facts_.interval)),
      energy_(model_of(facts_.machine), facts_.fill, facts_.missing, facts_.machine.threads) {}

ServeSession::~ServeSession() { sampler_.stop(); }

Result<std::unique_ptr<ServeSession>> ServeSession::start(std::vector<Device> devices, const std::string& path, RunFacts facts) {
  std::unique_ptr<ServeSession> session(new ServeSession(std::move(devices), std::move(facts)));
  auto writer = RecordingWriter::create(path, recorded_devices(session->devices_, session->sampler_), to_metadata(session->facts_));
  if (!writer) return std::unexpected(writer.error());
  session->writer_ = *std::move(writer);
  session->recorder_.writer = session->writer_.get();
  session->recorder_.live = &session->window_;
  session->writer_->add(ClockMap::now());
  session->sampler_.start();
  return session;
}

void ServeSession::begin(MonoTime at) {
  facts_.run = Interval{at, at};
  for (const auto& [name, json] : to_metadata(facts_)) writer_->set(name, json);
}

void ServeSession::add_work(const std::string& unit, double count, MonoTime at) {
  if (count > 0) writer_->add(Mark{at, ::getpid(), ::gettid(), MarkKind::work, unit, count});
}

void ServeSession::add_figure(const std::string& name, double value, MonoTime at) {
  writer_->add(Mark{at, ::getpid(), ::gettid(), MarkKind::kpi, name, value});
}

LiveEnergy::Told ServeSession::burnt() { return facts_.run ? energy_.since(facts_.run->begin, window_) : LiveEnergy::Told{}; }

Result<void> ServeSession::stop(MonoTime end) {
  sampler_.stop();
  for (std::string& flag : recorder_.finish()) facts_.notes.push_back(std::move(flag));
  writer_->add(ClockMap::now());
  if (!facts_.run) facts_.run = Interval{end, end};
  facts_.run->end = end;
  facts_.run_ended = true;
  facts_.exit_code = 0;
  for (const auto& [name, json] : to_metadata(facts_)) writer_->set(name, json);
  return writer_->close();
}

}  // namespace joulery
