#include "ledger/host_recording.h"

#include <algorithm>

namespace joulery {
namespace {

bool is_of(const RecordedDevice& device, const std::string& host) {
  return std::ranges::any_of(device.channels, [&](const Channel& channel) { return channel.component.host() == host; });
}

}  // namespace

HostRecording::HostRecording(const Recording& job, const JobHost& host) : job_(job), host_(host) {
  for (std::size_t d = 0; d < job.devices().size(); ++d) {
    if (!is_of(job.devices()[d], host.name)) continue;
    RecordedDevice device = job.devices()[d];
    for (Channel& channel : device.channels) channel.component = Component(std::string(channel.component.local()));
    devices_.push_back(std::move(device));
    places_.push_back(d);
  }
}

bool HostRecording::is_member(std::int32_t pid) const { return std::ranges::find(host_.members, member_of(pid)) != host_.members.end(); }

Result<std::vector<Mark>> HostRecording::marks() const {
  auto all = job_.marks();
  if (all) std::erase_if(*all, [&](const Mark& mark) { return !is_member(mark.pid); });
  return all;
}

Result<std::vector<ProcessSample>> HostRecording::processes() const {
  auto all = job_.processes();
  if (all) std::erase_if(*all, [&](const ProcessSample& sample) { return !is_member(sample.id.pid); });
  return all;
}

Result<std::vector<DeviceProcessSample>> HostRecording::device_processes() const {
  const auto all = job_.device_processes();
  if (!all) return all;
  std::vector<DeviceProcessSample> own;
  for (const DeviceProcessSample& sample : *all) {
    const auto at = std::ranges::find(places_, sample.device);
    if (at == places_.end()) continue;
    own.push_back(sample);
    own.back().device = static_cast<std::size_t>(at - places_.begin());
    own.back().process.component = Component(std::string(sample.process.component.local()));
  }
  return own;
}

Result<std::vector<RecordedEvent>> HostRecording::events() const {
  const auto all = job_.events();
  if (!all) return all;
  std::vector<RecordedEvent> own;
  for (const RecordedEvent& event : *all) {
    const auto detail = detail_of_host(host_.name, event.detail);
    if (!detail) continue;
    own.push_back(event);
    own.back().detail = *detail;
  }
  return own;
}

}  // namespace joulery
