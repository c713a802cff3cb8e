#include "sense/aws/neuron.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "sense/accelerator_channels.h"
#include "sense/aws/line_process.h"
#include "sense/aws/neuron_report.h"
#include "sense/obstacles.h"
#include "sense/parse_number.h"

namespace joulery {
namespace {

constexpr std::string_view kind = "neuron";
constexpr Duration period = milliseconds(1000), default_timeout = milliseconds(2000);
constexpr Duration oldest_report = milliseconds(3000), before_next_start = milliseconds(5000);
constexpr double ten_thousandth = 1e-4;

constexpr Advice no_device{"this machine has no AWS Neuron device", ""};
constexpr Advice no_program{"there is a Neuron device, but neuron-monitor is not installed",
                            "sudo apt-get install aws-neuronx-tools  # from AWS's Neuron repository"};
constexpr Advice no_report{"neuron-monitor runs, but gives no report", "neuron-monitor  # shows what it says by itself"};
constexpr Advice not_started{"neuron-monitor cannot be started", ""};

constexpr std::string_view configuration =
    R"({"period":"1s","neuron_runtimes":[{"tag_filter":".*","metrics":[{"type":"neuroncore_counters"},{"type":"memory_used"}]}],)"
    R"("system_metrics":[]})";

// neuron0, neuron1, ... as the driver shows them.
int count_devices(const Machine& machine) {
  constexpr std::string_view prefix = "neuron";
  int count = 0;
  for (const char* folder : {"/sys/devices/virtual/neuron_device", "/sys/class/neuron_device"}) {
    for (const std::string& name : machine.list(folder))
      if (name.starts_with(prefix) && parse_whole<int>(std::string_view(name).substr(prefix.size()))) ++count;
    if (count > 0) break;
  }
  return count;
}

std::vector<std::vector<std::string>> commands_of(const Settings& settings) {
  const auto set = settings.texts("neuron.command");
  if (set && *set && !(*set)->empty()) return {**set};
  return {{"neuron-monitor", "-c", "/proc/self/fd/3"}, {"/opt/aws/neuron/bin/neuron-monitor", "-c", "/proc/self/fd/3"}};
}

class NeuronMeter final : public Meter {
 public:
  NeuronMeter(int devices, std::unique_ptr<LineProcess> process) : devices_(devices), process_(std::move(process)) {
    for (int device = 0; device < devices; ++device) {
      const Component component(fmt::format("node/gpu/neuron-{}", device));
      const std::string prefix = fmt::format("neuron-{} ", device);
      channels_.push_back(accelerator_channel(component, prefix + "utilisation", Measurand::utilisation, Behaviour::gauge, ten_thousandth));
      channels_.push_back(accelerator_channel(component, prefix + "memory", Measurand::memory, Behaviour::gauge, 1));
      channels_.push_back(accelerator_channel(component, prefix + "memory_total", Measurand::memory, Behaviour::constant, 1));
      for (Channel* channel = &channels_.back() - 2; channel <= &channels_.back(); ++channel) channel->update_period = period;
    }
  }
  std::span<const Channel> channels() const override { return channels_; }

  void read(Sink& sink) override {
    look(mono_now());
    const MonoTime now = mono_now();
    for (int device = 0; device < devices_; ++device) {
      const MissingReason reason = trouble(device, now);
      if (reason != MissingReason::none) {
        for (int i = 0; i < 3; ++i) sink.missing(reason);
        continue;
      }
      sink.value(to_whole(utilisation(device) * 1e-2 / ten_thousandth));
      report_memory(device, sink);
      if (report_->device_memory > 0)
        sink.value(report_->device_memory);
      else
        sink.missing(MissingReason::not_supported);
    }
  }

  // True where a report came by `until`.
  bool look(MonoTime until) {
    if (!process_->running() && mono_now() >= next_start_) {
      next_start_ = mono_now() + before_next_start;
      process_->start();
    }
    const auto line = process_->newest_line(until);
    if (!line) return false;
    auto report = parse_neuron_report(*line);
    rubbish_ = !report;
    if (!report) return false;
    report_ = std::move(report);
    reported_ = mono_now();
    return true;
  }

 private:
  MissingReason trouble(int device, MonoTime now) const {
    if (!process_->running()) return MissingReason::gone;
    if (rubbish_) return MissingReason::rubbish;
    if (!report_ || now - reported_ > oldest_report) return MissingReason::timed_out;
    if (report_->cores_per_device == 0 || (report_->devices > 0 && device >= report_->devices)) return MissingReason::not_supported;
    return MissingReason::none;
  }

  // Mean over all cores of the device; a core that no program uses is idle.
  double utilisation(int device) const {
    double sum = 0;
    for (const auto& [core, per_cent] : report_->utilisation)
      if (core / report_->cores_per_device == device) sum += std::min(per_cent, 100.0);
    return sum / report_->cores_per_device;
  }

  // Device by device where the report tells cores apart; of a single device, the sum of all.
  void report_memory(int device, Sink& sink) const {
    if (devices_ == 1 && report_->all_memory) return sink.value(*report_->all_memory);
    if (report_->memory.empty() && report_->all_memory.value_or(0) > 0) return sink.missing(MissingReason::not_supported);
    std::int64_t sum = 0;
    for (const auto& [core, bytes] : report_->memory)
      if (core / report_->cores_per_device == device) sum += bytes;
    sink.value(sum);
  }

  int devices_;
  std::unique_ptr<LineProcess> process_;
  std::vector<Channel> channels_;
  std::optional<NeuronReport> report_;
  MonoTime reported_, next_start_ = mono_now() + before_next_start;
  bool rubbish_ = false;
};

// The first of the commands that can be started; the errno of the last one where none can.
std::expected<std::unique_ptr<LineProcess>, int> start_any(const std::vector<std::vector<std::string>>& commands) {
  int error = ENOENT;
  for (const auto& command : commands) {
    auto process = std::make_unique<LineProcess>(command, std::string(configuration));
    error = process->start();
    if (error == 0) return process;
  }
  return std::unexpected(error);
}

}  // namespace

Discovery probe_neuron(const Machine& machine, const Settings& settings) {
  const int devices = count_devices(machine);
  if (devices == 0) return {{}, {absent_finding(kind, "", no_device)}};
  const std::string name = fmt::format("{} Neuron device{}", devices, devices == 1 ? "" : "s");
  auto process = start_any(commands_of(settings));
  if (!process && process.error() == ENOENT) return {{}, {blocked_finding(kind, name, no_program)}};
  if (!process) return {{}, {blocked_finding(kind, name, not_started, error_from_errno(process.error(), "", "").line())}};
  auto meter = std::make_unique<NeuronMeter>(devices, *std::move(process));
  const auto timeout = settings.duration("neuron.timeout");
  if (!meter->look(mono_now() + (timeout ? timeout->value_or(default_timeout) : default_timeout)))
    return {{}, {blocked_finding(kind, name, no_report)}};
  Finding finding = readable_finding(kind, name);
  finding.reason = "utilisation and memory; a Neuron device tells no power: its energy is not measured";
  Discovery discovery;
  discovery.findings.push_back(std::move(finding));
  discovery.devices.push_back({std::string(kind), name, true, std::move(meter), period});
  return discovery;
}

}  // namespace joulery
