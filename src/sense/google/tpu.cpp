#include "sense/google/tpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>

#include "sense/accelerator_channels.h"
#include "sense/google/grpc_client.h"
#include "sense/google/tpu_metric.h"
#include "sense/obstacles.h"
#include "sense/parse_number.h"
#include "sense/pci_accelerators.h"

namespace joulery {
namespace {

constexpr std::string_view kind = "tpu";
constexpr std::string_view method = "/tpu.monitoring.runtime.RuntimeMetricService/GetRuntimeMetric";
constexpr Duration refresh = milliseconds(1000), default_timeout = milliseconds(1000);

constexpr Advice no_chip{"this machine has no Google TPU", ""};
constexpr Advice no_curl{"the TPU's metrics service speaks HTTP/2, for which libcurl is not installed", "sudo apt-get install libcurl4"};
constexpr Advice no_answer{
    "the TPU's metrics service does not answer now: it runs within a program that uses the TPU, and only as long. "
    "A TPU tells no power in any case: its energy is estimated",
    ""};

// Numbers of Google's on the PCI bus, as its own tool tpu-info knows them. A chip with two cores that the runtime sees as
// devices of their own tells its memory core by core.
struct Model {
  std::string_view device, subsystem, name;
  int devices_per_chip;
};
constexpr Model models[] = {
    {"0x0027", "0x004e", "TPU v2", 2}, {"0x0027", "0x004f", "TPU v3", 2}, {"0x005e", "", "TPU v4", 1}, {"0x0063", "", "TPU v5e", 1},
    {"0x0062", "", "TPU v5p", 1},      {"0x006f", "", "TPU v6e", 1},      {"0x0076", "", "TPU7x", 2},
};

struct Chips {
  const Model* model = nullptr;
  int count = 0;
};

// All chips of one machine are of one model.
Chips find_chips(const Machine& machine) {
  Chips chips;
  const std::string devices = "/sys/bus/pci/devices";
  for (const std::string& address : machine.list(devices)) {
    const std::string folder = path_below(devices, address);
    if (machine.read_or_empty(folder + "/vendor") != google_pci.id || !address.ends_with(".0")) continue;  // further functions: cores
    const std::string device = machine.read_or_empty(folder + "/device"), subsystem = machine.read_or_empty(folder + "/subsystem_device");
    for (const Model& model : models)
      if (model.device == device && (model.subsystem.empty() || model.subsystem == subsystem)) {
        chips.model = &model;
        ++chips.count;
      }
  }
  return chips;
}

std::vector<std::string> ports_of(const Settings& settings) {
  const auto set = settings.texts("tpu.ports");
  std::vector<std::string> ports;
  if (set && *set) ports = **set;
  const char* environment = std::getenv("TPU_RUNTIME_METRICS_PORTS");
  std::string_view rest = ports.empty() && environment ? environment : "";
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    if (parse_whole<std::uint16_t>(rest.substr(0, comma))) ports.emplace_back(rest.substr(0, comma));
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
  }
  if (ports.empty()) ports.emplace_back("8431");
  return ports;
}

// One metric of the service, for each chip: its value in `unit`, or why there is none.
struct Metric {
  std::string_view metric, name;
  Measurand measurand;
  Behaviour behaviour;
  double unit, scale;   // a count is `unit`; the service's value times `scale` is in units of SI
  bool of_cores;        // told for each core: a chip's is their sum
};
constexpr Metric metrics[] = {
    {"tpu.runtime.tensorcore.dutycycle.percent", "utilisation", Measurand::utilisation, Behaviour::gauge, 1e-4, 1e-2, false},
    {"tpu.runtime.hbm.memory.usage.bytes", "memory", Measurand::memory, Behaviour::gauge, 1, 1, true},
    {"tpu.runtime.hbm.memory.total.bytes", "memory_total", Measurand::memory, Behaviour::constant, 1, 1, true},
};

class TpuMeter final : public Meter {
 public:
  TpuMeter(Chips chips, std::vector<std::string> ports, std::unique_ptr<GrpcClient> client)
      : chips_(chips), ports_(std::move(ports)), client_(std::move(client)) {
    for (const Metric& metric : metrics)
      for (int chip = 0; chip < chips.count; ++chip)
        channels_.push_back(accelerator_channel(Component(fmt::format("node/gpu/tpu-{}", chip)),
                                                fmt::format("tpu-{} {}", chip, metric.name), metric.measurand, metric.behaviour,
                                                metric.unit));
  }
  std::span<const Channel> channels() const override { return channels_; }
  void read(Sink& sink) override {
    for (const Metric& metric : metrics) {
      std::map<int, double> by_chip;
      const MissingReason reason = collect(metric, by_chip);
      for (int chip = 0; chip < chips_.count; ++chip) {
        const auto value = by_chip.find(chip);
        if (value == by_chip.end())
          sink.missing(reason);
        else
          sink.value(to_whole(value->second * metric.scale / metric.unit));
      }
    }
  }

 private:
  // Asks every port. Each program may number its devices from 0: a number that an earlier port has told is counted on from
  // there. Gives the reason for chips of which nothing was told.
  MissingReason collect(const Metric& metric, std::map<int, double>& by_chip) {
    MissingReason reason = MissingReason::gone;
    std::int64_t first_free = 0;
    for (const std::string& port : ports_) {
      const auto answer = client_->call("localhost:" + port, method, tpu_metric_request(metric.metric));
      const auto values = answer ? parse_tpu_metric(*answer) : std::nullopt;
      if (!values) {
        reason = answer ? MissingReason::rubbish : answer.error();
        if (reason == MissingReason::timed_out) break;  // the others must not wait as long again
        continue;
      }
      first_free = add(metric, *values, first_free, by_chip);
    }
    return reason;
  }

  std::int64_t add(const Metric& metric, const std::vector<TpuValue>& values, std::int64_t first_free,
                   std::map<int, double>& by_chip) const {
    const std::int64_t per_chip = metric.of_cores ? chips_.model->devices_per_chip : 1, most = per_chip * chips_.count;
    const bool taken = std::ranges::any_of(values, [&](const TpuValue& v) { return v.device < first_free; });
    std::int64_t next_free = first_free;
    for (const TpuValue& value : values) {
      if (value.device < 0 || value.value < 0 || value.value > 1e15) continue;
      const std::int64_t device = taken ? value.device + first_free : value.device;
      if (device >= most) continue;
      by_chip[static_cast<int>(device / per_chip)] += value.value;
      next_free = std::max(next_free, device + 1);
    }
    return next_free;
  }

  Chips chips_;
  std::vector<std::string> ports_;
  std::unique_ptr<GrpcClient> client_;
  std::vector<Channel> channels_;
};

bool answers(Meter& meter) {
  Sink sink(meter.channels().size());
  sink.start();
  meter.read(sink);
  sink.finish();
  return std::ranges::any_of(sink.readings(), &Reading::ok);
}

}  // namespace

Discovery probe_tpu(const Machine& machine, const Settings& settings) {
  const Chips chips = find_chips(machine);
  if (chips.count == 0) return {{}, {absent_finding(kind, "", no_chip)}};
  const auto timeout = settings.duration("tpu.timeout");
  auto client = GrpcClient::make(timeout ? timeout->value_or(default_timeout) : default_timeout);
  const std::string name = fmt::format("{} x {}", chips.count, chips.model->name);
  if (!client) return {{}, {blocked_finding(kind, name, no_curl)}};
  auto meter = std::make_unique<TpuMeter>(chips, ports_of(settings), std::move(client));
  Discovery discovery;
  Finding finding = answers(*meter) ? readable_finding(kind, name) : blocked_finding(kind, name, no_answer);
  if (finding.readable) finding.reason = "utilisation and memory; a TPU tells no power: its energy is estimated";
  discovery.findings.push_back(std::move(finding));
  discovery.devices.push_back({std::string(kind), name, true, std::move(meter), refresh});
  return discovery;
}

}  // namespace joulery
