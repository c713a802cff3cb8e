#include "sense/rapl/perf.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "sense/live_file.h"
#include "sense/obstacles.h"
#include "sense/rapl/perf_events.h"
#include "sense/surroundings.h"

namespace joulery {
namespace {

constexpr std::string_view kind = "rapl.perf";

// System-wide counting of one event on one CPU; -1 with errno where it is refused.
int open_event(const PerfEvent& event) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = event.type;
  attributes.config = event.config;
  return static_cast<int>(::syscall(SYS_perf_event_open, &attributes, -1, event.cpu, -1, PERF_FLAG_FD_CLOEXEC));
}

std::expected<std::int64_t, MissingReason> read_count(int descriptor) {
  std::uint64_t count = 0;
  ssize_t size;
  do size = ::read(descriptor, &count, sizeof count);
  while (size < 0 && errno == EINTR);
  if (size == sizeof count) return static_cast<std::int64_t>(count);
  return std::unexpected(size < 0 ? reason_from_errno(errno) : MissingReason::gone);  // no bytes: the CPU is offline
}

class PerfMeter final : public Meter {
 public:
  PerfMeter(std::vector<Channel> channels, std::vector<int> descriptors)
      : channels_(std::move(channels)), descriptors_(std::move(descriptors)) {}
  ~PerfMeter() override {
    for (const int descriptor : descriptors_) ::close(descriptor);
  }
  PerfMeter(const PerfMeter&) = delete;
  PerfMeter& operator=(const PerfMeter&) = delete;

  std::span<const Channel> channels() const override { return channels_; }
  void read(Sink& sink) override {
    for (const int descriptor : descriptors_) report(sink, read_count(descriptor));
  }

 private:
  std::vector<Channel> channels_;
  std::vector<int> descriptors_;
};

// "it is 2": what the setting is now.
std::string paranoid_now(const Machine& machine) {
  const std::string value = machine.read_or_empty("/proc/sys/kernel/perf_event_paranoid");
  return value.empty() ? std::string() : "it is " + value;
}

Finding refused(const PerfEvent& event, int error, const Machine& machine, const Surroundings& around) {
  if (error != EACCES && error != EPERM) return blocked_finding(kind, event.channel.name, Obstacle::perf_unsupported, ::strerror(error));
  const bool seccomp = around.container && ::geteuid() == 0;
  if (seccomp) return blocked_finding(kind, event.channel.name, Obstacle::perf_seccomp);
  return blocked_finding(kind, event.channel.name, Obstacle::perf_paranoid, paranoid_now(machine));
}

struct OpenEvent {
  const PerfEvent* event;
  int descriptor;
};

// A hypervisor may show events that never count. Only a virtual machine is asked to prove that its events do: whatever
// burns has burnt a count within two refreshes (1 ms each).
bool stands_still(const OpenEvent& open) {
  const auto count = read_count(open.descriptor);
  return !count || *count == 0;
}

void wait_for_counts(const std::vector<OpenEvent>& events) {
  constexpr timespec two_refreshes{.tv_sec = 0, .tv_nsec = 2'000'000};
  if (std::ranges::any_of(events, stands_still)) ::nanosleep(&two_refreshes, nullptr);
}

void open_all(const std::vector<PerfEvent>& events, const Machine& machine, const Surroundings& around, Discovery& discovery) {
  std::vector<OpenEvent> opened;
  for (const PerfEvent& event : events) {
    const int descriptor = open_event(event);
    if (descriptor >= 0)
      opened.push_back({&event, descriptor});
    else
      discovery.findings.push_back(refused(event, errno, machine, around));
  }
  if (around.virtual_machine) wait_for_counts(opened);
  std::vector<Channel> channels;
  std::vector<int> descriptors;
  for (const OpenEvent& open : opened) {
    const std::string& name = open.event->channel.name;
    if (around.virtual_machine && stands_still(open)) {
      ::close(open.descriptor);
      discovery.findings.push_back(blocked_finding(kind, name, Obstacle::perf_stands_still, around.hypervisor));
      continue;
    }
    channels.push_back(open.event->channel);
    descriptors.push_back(open.descriptor);
    discovery.findings.push_back(readable_finding(kind, name));
  }
  if (!channels.empty())
    discovery.devices.push_back({std::string(kind), "power", false, make_perf_meter(std::move(channels), std::move(descriptors))});
}

}  // namespace

std::unique_ptr<Meter> make_perf_meter(std::vector<Channel> channels, std::vector<int> descriptors) {
  return std::make_unique<PerfMeter>(std::move(channels), std::move(descriptors));
}

Discovery probe_perf(const Machine& machine) {
  Discovery discovery;
  const std::vector<PerfEvent> events = read_perf_events(machine);
  if (!machine.is_this_machine()) {
    for (const PerfEvent& event : events)
      discovery.findings.push_back(blocked_finding(kind, event.channel.name, Obstacle::perf_needs_this_machine));
    if (events.empty()) discovery.findings.push_back(absent_finding(kind, "", Obstacle::perf_no_pmu));
    return discovery;
  }
  const Surroundings around = read_surroundings(machine);
  if (events.empty())
    discovery.findings.push_back(absent_finding(kind, "", around.virtual_machine ? Obstacle::no_rapl_in_vm : Obstacle::perf_no_pmu));
  open_all(events, machine, around, discovery);
  return discovery;
}

}  // namespace joulery
