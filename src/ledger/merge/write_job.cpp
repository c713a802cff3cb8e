#include "ledger/merge/write_job.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "ledger/merge/host_facts.h"
#include "ledger/merge/splice.h"

namespace joulery {
namespace {

constexpr std::size_t rounds_per_flush = 65536;

// The number of the recording whose process this is: recordings of one host may have followed the same one.
class Pids {
 public:
  Pids(const std::vector<MergeInput>& inputs, const PlannedHost& host) {
    for (const std::size_t input : host.inputs)
      for (const ProcessSample& sample : inputs[input].processes) {
        owners_.try_emplace(sample.id, input);
        ids_[{input, sample.id.pid}] = sample.id;
      }
  }
  std::int32_t of(std::size_t input, std::int32_t pid) const {
    const auto id = ids_.find({input, pid});
    return job_pid(static_cast<std::int32_t>(id == ids_.end() ? input : owners_.at(id->second)), pid);
  }

 private:
  std::map<ProcessId, std::size_t> owners_;
  std::map<std::pair<std::size_t, std::int32_t>, ProcessId> ids_;
};

class JobWriter {
 public:
  JobWriter(const std::vector<MergeInput>& inputs, const MergePlan& plan) : inputs_(inputs), plan_(plan) {
    for (const PlannedHost& host : plan.hosts)
      for (SplicedDevice& device : splice_devices(inputs, host)) devices_.push_back({&host, std::move(device)});
  }

  Result<void> write(const std::string& version, const std::string& path) {
    std::vector<RecordedDevice> recorded;
    for (const auto& [host, device] : devices_) recorded.push_back(below_host(*host, device.recorded));
    Metadata metadata = job_metadata(inputs_, plan_, version);
    auto writer = RecordingWriter::create(path, std::move(recorded), metadata, moved_crossings(inputs_, plan_.hosts.front()).front());
    if (!writer) return std::unexpected(writer.error());
    writer_ = writer->get();
    if (const auto done = write_rounds(); !done) return done;
    for (const PlannedHost& host : plan_.hosts)
      if (const auto done = write_host(host); !done) return done;
    return writer_->close();
  }

 private:
  static RecordedDevice below_host(const PlannedHost& host, RecordedDevice device) {
    for (Channel& channel : device.channels) channel.component = channel.component.of_host(host.name);
    return device;
  }

  // Rounds keep their time to the microsecond, and are moved by whole microseconds: nothing is rounded once more.
  Result<void> write_rounds() {
    std::size_t count = 0;
    std::vector<Reading> readings;
    for (std::size_t d = 0; d < devices_.size(); ++d)
      for (const SplicedPiece& piece : devices_[d].second.pieces) {
        const auto series = inputs_[piece.input].recording->series(piece.device);
        if (!series) return std::unexpected(series.error());
        for (std::size_t i = piece.from; i < series->before.size(); ++i) {
          const Duration shift = devices_[d].first->shift;
          readings.clear();
          for (const Series::Column& column : series->columns)
            readings.push_back({column.raw[i], column.reason.empty() ? MissingReason::none : column.reason[i], series->before[i] + shift,
                                series->after[i] + shift});
          writer_->add(Round{d, series->before[i] + shift, readings});
          if (++count % rounds_per_flush == 0)
            if (const auto done = writer_->flush(); !done) return done;
        }
      }
    return {};
  }

  Result<void> write_host(const PlannedHost& host) {
    const Pids pids(inputs_, host);
    for (const std::size_t input : host.inputs) {
      for (Mark mark : inputs_[input].marks) {
        mark.time = mark.time + host.shift;
        mark.pid = pids.of(input, mark.pid);
        writer_->add(mark);
      }
      for (ProcessSample sample : inputs_[input].processes) {
        sample.time = sample.time + host.shift;
        sample.parent = pids.of(input, sample.parent);
        sample.id.pid = pids.of(input, sample.id.pid);
        writer_->add(sample);
      }
      if (const auto done = write_device_processes(host, input, pids); !done) return done;
    }
    for (const ClockMap& crossing : moved_crossings(inputs_, plan_.hosts.front()))
      if (&host == &plan_.hosts.front()) writer_->add(crossing);
    if (const auto done = write_events(host); !done) return done;
    return writer_->flush();
  }

  // Of the device's first recording alone: others tell the same once more.
  Result<void> write_device_processes(const PlannedHost& host, std::size_t input, const Pids& pids) {
    const auto all = inputs_[input].recording->device_processes();
    if (!all) return std::unexpected(all.error());
    for (DeviceProcessSample sample : *all) {
      const auto at = std::ranges::find_if(devices_, [&](const auto& device) {
        const SplicedPiece& first = device.second.pieces.front();
        return device.first == &host && first.input == input && first.device == sample.device;
      });
      if (at == devices_.end()) continue;
      sample.device = static_cast<std::size_t>(at - devices_.begin());
      sample.time = sample.time + host.shift;
      sample.process.component = sample.process.component.of_host(host.name);
      sample.process.pid = pids.of(input, static_cast<std::int32_t>(sample.process.pid));
      writer_->add(sample);
    }
    return {};
  }

  // A suspension that several recordings of a host saw is told once.
  Result<void> write_events(const PlannedHost& host) {
    std::vector<MonoTime> suspended;
    for (const std::size_t input : host.inputs) {
      const auto events = inputs_[input].recording->events();
      if (!events) return std::unexpected(events.error());
      for (RecordedEvent event : *events) {
        const auto near = [&](MonoTime t) { return std::abs((t - event.when.begin).base_units()) < seconds(2).base_units(); };
        if (event.kind == "suspended" && std::ranges::any_of(suspended, near)) continue;
        if (event.kind == "suspended") suspended.push_back(event.when.begin);
        event.when = {event.when.begin + host.shift, event.when.end + host.shift};
        event.detail = host_detail(host.name, event.detail);
        writer_->add(event);
      }
    }
    return {};
  }

  const std::vector<MergeInput>& inputs_;
  const MergePlan& plan_;
  std::vector<std::pair<const PlannedHost*, SplicedDevice>> devices_;
  RecordingWriter* writer_ = nullptr;
};

void remove_files(const std::string& path) {
  for (const char* suffix : {"", "-wal", "-shm"}) ::unlink((path + suffix).c_str());
}

}  // namespace

Result<void> write_job(const std::vector<MergeInput>& inputs, const MergePlan& plan, const std::string& version,
                       const std::string& output) {
  const std::string unfinished = fmt::format("{}.unfinished-{}", output, ::getpid());
  if (::access(output.c_str(), F_OK) == 0)
    return fail(ErrorCode::usage, "the recording exists already", output, "give another name, or remove it first");
  auto done = JobWriter(inputs, plan).write(version, unfinished);
  if (!done && done.error().where == unfinished) done.error().where = output;
  if (done && ::renameat2(AT_FDCWD, unfinished.c_str(), AT_FDCWD, output.c_str(), RENAME_NOREPLACE) != 0 &&
      (errno != EINVAL || ::rename(unfinished.c_str(), output.c_str()) != 0))
    done = std::unexpected(error_from_errno(errno, "cannot create the recording", output, "give a path that can be written"));
  if (!done) remove_files(unfinished);
  return done;
}

}  // namespace joulery
