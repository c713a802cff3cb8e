// A recording in memory: what a program that measures itself keeps, and what tests are told in.
#pragma once

#include "record/recording.h"

namespace joulery {

class MemoryRecording final : public Recording {
 public:
  explicit MemoryRecording(std::vector<RecordedDevice> devices);

  // One thread at a time.
  void add(const Round& round);
  void add(const Mark& mark) { marks_.push_back(mark); }
  void add(const ProcessSample& sample) { processes_.push_back(sample); }
  void add(const DeviceProcessSample& sample) { device_processes_.push_back(sample); }
  void add(const RecordedEvent& event) { events_.push_back(event); }
  void add(const ClockMap& crossing) { clock_maps_.push_back(crossing); }
  void set(const Metadata& entries) {
    for (const auto& [name, json] : entries) metadata_[name] = json;
  }

  const Metadata& metadata() const override { return metadata_; }
  std::span<const RecordedDevice> devices() const override { return devices_; }
  Result<Series> series(std::size_t device) const override { return series_[device]; }
  Result<std::vector<Mark>> marks() const override;
  Result<std::vector<ProcessSample>> processes() const override;
  Result<std::vector<DeviceProcessSample>> device_processes() const override { return device_processes_; }
  Result<std::vector<RecordedEvent>> events() const override { return events_; }
  Result<std::vector<ClockMap>> clock_maps() const override { return clock_maps_; }

 private:
  std::vector<RecordedDevice> devices_;
  std::vector<Series> series_;
  std::vector<Mark> marks_;
  std::vector<ProcessSample> processes_;
  std::vector<DeviceProcessSample> device_processes_;
  std::vector<RecordedEvent> events_;
  std::vector<ClockMap> clock_maps_;
  Metadata metadata_;
};

}  // namespace joulery
