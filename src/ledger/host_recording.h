// One host of a job as if its recording stood alone: its devices under their own names, its marks, processes and events,
// on its own clock. So what holds for a recording holds for each host of a job, by the same code.
#pragma once

#include <vector>

#include "ledger/job_host.h"
#include "record/recording.h"

namespace joulery {

class HostRecording final : public Recording {
 public:
  // `job` and `host` outlive it. Pids are those of the job: plain_pid() tells the host's own.
  HostRecording(const Recording& job, const JobHost& host);

  const Metadata& metadata() const override { return host_.metadata; }
  std::span<const RecordedDevice> devices() const override { return devices_; }
  Result<Series> series(std::size_t device) const override { return job_.series(places_[device]); }
  Result<std::vector<Mark>> marks() const override;
  Result<std::vector<ProcessSample>> processes() const override;
  Result<std::vector<DeviceProcessSample>> device_processes() const override;
  Result<std::vector<RecordedEvent>> events() const override;
  Result<std::vector<ClockMap>> clock_maps() const override { return host_.crossings; }

 private:
  bool is_member(std::int32_t pid) const;

  const Recording& job_;
  const JobHost& host_;
  std::vector<RecordedDevice> devices_;
  std::vector<std::size_t> places_;  // of each device among the job's
};

}  // namespace joulery
