#include "sense/nvidia/nvml.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "sense/nvidia/nvml_api.h"
#include "sense/obstacles.h"

namespace joulery {
namespace {

constexpr std::string_view kind = "nvml";
using Device = NvmlApi::Device;

// --- What is read ---------------------------------------------------------------------------------------------------

NvmlReturn read_energy(const NvmlApi& api, Device device, std::int64_t& value) {
  unsigned long long millijoules = 0;
  const NvmlReturn code = call(api.total_energy, device, &millijoules);
  value = static_cast<std::int64_t>(millijoules);
  return code;
}

NvmlReturn read_power(const NvmlApi& api, Device device, std::int64_t& value) {
  unsigned milliwatts = 0;
  const NvmlReturn code = call(api.power_usage, device, &milliwatts);
  value = milliwatts;
  return code;
}

NvmlReturn read_utilisation(const NvmlApi& api, Device device, std::int64_t& value) {
  NvmlUtilization per_cent{};
  const NvmlReturn code = call(api.utilization, device, &per_cent);
  value = per_cent.gpu;
  return code;
}

NvmlReturn read_memory_used(const NvmlApi& api, Device device, std::int64_t& value) {
  NvmlMemory memory{};
  const NvmlReturn code = call(api.memory_info, device, &memory);
  value = static_cast<std::int64_t>(memory.used);
  return code;
}

NvmlReturn read_memory_total(const NvmlApi& api, Device device, std::int64_t& value) {
  NvmlMemory memory{};
  const NvmlReturn code = call(api.memory_info, device, &memory);
  value = static_cast<std::int64_t>(memory.total);
  return code;
}

NvmlReturn read_sm_clock(const NvmlApi& api, Device device, std::int64_t& value) {
  constexpr int sm_domain = 1;
  unsigned megahertz = 0;
  const NvmlReturn code = call(api.clock_info, device, sm_domain, &megahertz);
  value = megahertz;
  return code;
}

NvmlReturn read_throttle(const NvmlApi& api, Device device, std::int64_t& value) {
  unsigned long long bits = 0;
  const NvmlReturn code = call(api.clock_event_reasons, device, &bits);
  value = static_cast<std::int64_t>(bits);
  return code;
}

struct Item {
  std::string_view name;
  Measurand measurand;
  Behaviour behaviour;
  double unit;
  NvmlReturn (*read)(const NvmlApi&, Device, std::int64_t&);
};
constexpr Item items[] = {
    {"energy", Measurand::energy, Behaviour::counter, 1e-3, read_energy},
    {"power", Measurand::power, Behaviour::gauge, 1e-3, read_power},
    {"utilisation", Measurand::utilisation, Behaviour::gauge, 1e-2, read_utilisation},
    {"memory", Measurand::memory, Behaviour::gauge, 1, read_memory_used},
    {"memory_total", Measurand::memory, Behaviour::constant, 1, read_memory_total},
    {"sm_clock", Measurand::frequency, Behaviour::gauge, 1e6, read_sm_clock},
    {"throttle", Measurand::events, Behaviour::label, 1, read_throttle},  // bits: 4 power cap, 0x20 and 0x40 heat, 0x80 brake
};

bool is_burning(const Item& item) { return item.measurand == Measurand::energy || item.measurand == Measurand::power; }
bool is_absent(NvmlReturn code) {
  return code == NvmlReturn::not_supported || code == NvmlReturn::function_not_found || code == NvmlReturn::deprecated;
}

// --- How far it may be trusted ---------------------------------------------------------------------------------------

// How nvmlDeviceGetPowerUsage samples, by architecture. Source: Yang, Adamek, Armour, "Part-time Power Measurements"
// (SC24), for drivers since 530, and the library's own documentation (a second's average since Ampere, but not GA100).
struct PowerSensor {
  unsigned architecture;  // as nvmlDeviceGetArchitecture numbers them
  Duration update, window;
};
constexpr PowerSensor power_sensors[] = {
    {2, milliseconds(15), Duration()},          // Kepler
    {3, milliseconds(100), Duration()},         // Maxwell
    {4, milliseconds(20), milliseconds(10)},    // Pascal
    {5, milliseconds(20), milliseconds(10)},    // Volta
    {6, milliseconds(100), milliseconds(100)},  // Turing
    {7, milliseconds(100), milliseconds(1000)}, // Ampere
    {8, milliseconds(100), milliseconds(1000)}, // Ada
    {9, milliseconds(100), milliseconds(1000)}, // Hopper
};
constexpr PowerSensor later_sensor{0, milliseconds(100), milliseconds(1000)};
constexpr PowerSensor ga100_sensor{7, milliseconds(100), milliseconds(25)};  // A100, A30: compute capability 8.0

// The same study's gains of 19 cards against an external meter: -9.5 to +6.4 %, offsets -12 to +12 W. Only a calibration
// removes them, so an uncalibrated reading is as uncertain as this.
constexpr Accuracy accuracy{.relative = 0.07, .absolute = watts(5)};

// Above its power limit a GPU goes for milliseconds only, but by as much again. Without limits: twice the largest GPU sold.
constexpr double over_limit = 2.0, watts_without_limit = 2400;

PowerSensor power_sensor(const NvmlApi& api, Device device) {
  unsigned architecture = 0;
  int major = 0, minor = -1;
  if (call(api.architecture, device, &architecture) != NvmlReturn::success) return later_sensor;
  call(api.compute_capability, device, &major, &minor);
  if (major == 8 && minor == 0) return ga100_sensor;
  for (const PowerSensor& sensor : power_sensors)
    if (sensor.architecture == architecture) return sensor;
  return later_sensor;
}

Power greatest_power(const NvmlApi& api, Device device) {
  unsigned least = 0, greatest = 0;
  if (call(api.power_limits, device, &least, &greatest) != NvmlReturn::success || greatest == 0) return watts(watts_without_limit);
  return watts(greatest * 1e-3 * over_limit);
}

Channel channel_for(const Item& item, unsigned index, const PowerSensor& sensor, Power max_power) {
  Channel channel;
  channel.component = Component("node/gpu/" + std::to_string(index));
  channel.name = item.name;
  channel.measurand = item.measurand;
  channel.behaviour = item.behaviour;
  channel.unit = item.unit;
  if (!is_burning(item)) return channel;
  channel.update_period = sensor.update;
  channel.averaging_window = item.behaviour == Behaviour::gauge ? sensor.window : Duration();
  channel.accuracy = accuracy;
  channel.max_power = max_power;
  channel.always_burns = item.behaviour == Behaviour::counter;
  return channel;
}

// --- Reading ---------------------------------------------------------------------------------------------------------

MissingReason reason_of(NvmlReturn code) {
  switch (code) {
    case NvmlReturn::not_supported:
    case NvmlReturn::function_not_found:
    case NvmlReturn::deprecated: return MissingReason::not_supported;
    case NvmlReturn::no_permission:
    case NvmlReturn::operating_system: return MissingReason::permission;
    case NvmlReturn::timeout: return MissingReason::timed_out;
    case NvmlReturn::gpu_is_lost:
    case NvmlReturn::reset_required:
    case NvmlReturn::gpu_not_found: return MissingReason::device_lost;
    case NvmlReturn::not_found: return MissingReason::gone;
    default: return MissingReason::io_error;
  }
}

class NvmlMeter final : public Meter {
 public:
  NvmlMeter(NvmlLibrary library, Device device) : library_(std::move(library)), device_(device) {}
  void add(const Item& item, Channel channel) {
    items_.push_back(&item);
    channels_.push_back(std::move(channel));
  }
  std::span<const Channel> channels() const override { return channels_; }
  void read(Sink& sink) override {
    for (const Item* item : items_) {
      std::int64_t value = 0;
      const NvmlReturn code = item->read(library_.api(), device_, value);
      if (code == NvmlReturn::success)
        sink.value(value);
      else
        sink.missing(reason_of(code));
    }
  }

 private:
  NvmlLibrary library_;
  Device device_;
  std::vector<const Item*> items_;
  std::vector<Channel> channels_;
};

// --- Looking for GPUs ------------------------------------------------------------------------------------------------

std::string text_of(int (*function)(Device, char*, unsigned), Device device) {
  std::array<char, 96> text{};
  if (call(function, device, text.data(), static_cast<unsigned>(text.size())) != NvmlReturn::success) return {};
  text.back() = '\0';
  return text.data();
}

std::string gpu_name(const NvmlApi& api, Device device, unsigned index) {
  const std::string uuid = text_of(api.uuid, device), name = text_of(api.name, device);
  const std::string first = uuid.empty() ? "gpu-" + std::to_string(index) : uuid;
  return name.empty() ? first : first + " " + name;
}

void probe_gpu(unsigned index, Discovery& discovery) {
  const std::string number = "gpu " + std::to_string(index);
  auto library = NvmlLibrary::open();
  if (!library) return discovery.findings.push_back(blocked_finding(kind, number, Obstacle::nvml_failed));
  const NvmlApi api = library->api();
  Device device = nullptr;
  if (const NvmlReturn code = call(api.device_by_index, index, &device); code != NvmlReturn::success)
    return discovery.findings.push_back(blocked_finding(kind, number, Obstacle::nvml_failed, library->describe(code)));
  const std::string name = gpu_name(api, device, index);
  const PowerSensor sensor = power_sensor(api, device);
  const Power max_power = greatest_power(api, device);
  auto meter = std::make_unique<NvmlMeter>(*std::move(library), device);
  bool burns = false;
  for (const Item& item : items) {
    std::int64_t ignored = 0;
    if (is_absent(item.read(api, device, ignored))) continue;
    burns = burns || is_burning(item);
    meter->add(item, channel_for(item, index, sensor, max_power));
  }
  if (!burns) return discovery.findings.push_back(blocked_finding(kind, name, Obstacle::nvml_no_energy));
  discovery.findings.push_back(readable_finding(kind, name));
  discovery.devices.push_back({std::string(kind), name, true, std::move(meter)});
}

// NVIDIA's vendor number on a display controller.
bool has_gpu(const Machine& machine) {
  const std::string devices = "/sys/bus/pci/devices";
  for (const std::string& device : machine.list(devices)) {
    const std::string folder = path_below(devices, device);
    if (machine.read_or_empty(folder + "/vendor") == "0x10de" && machine.read_or_empty(folder + "/class").starts_with("0x03")) return true;
  }
  return machine.exists("/proc/driver/nvidia/version");
}

Obstacle obstacle_of(NvmlReturn code) {
  switch (code) {
    case NvmlReturn::library_not_found: return Obstacle::nvml_no_library;
    case NvmlReturn::driver_not_loaded: return Obstacle::nvml_no_driver;
    case NvmlReturn::version_mismatch: return Obstacle::nvml_version_mismatch;
    case NvmlReturn::no_permission: return Obstacle::nvml_no_permission;
    case NvmlReturn::operating_system: return Obstacle::nvml_blocked;
    default: return Obstacle::nvml_failed;
  }
}

Finding not_open(const Machine& machine, NvmlReturn code) {
  if (!has_gpu(machine)) return absent_finding(kind, "", Obstacle::nvml_no_gpu);
  const Obstacle obstacle = obstacle_of(code);
  return blocked_finding(kind, "", obstacle, obstacle == Obstacle::nvml_failed ? "NVML " + std::to_string(static_cast<int>(code)) : "");
}

}  // namespace

Discovery probe_nvml(const Machine& machine) {
  Discovery discovery;
  if (!machine.is_this_machine() && !machine.exists("/proc/driver/nvidia/version")) {
    discovery.findings.push_back(absent_finding(kind, "", Obstacle::nvml_no_gpu));
    return discovery;
  }
  const auto library = NvmlLibrary::open();
  if (!library) {
    discovery.findings.push_back(not_open(machine, library.error()));
    return discovery;
  }
  unsigned count = 0;
  if (const NvmlReturn code = call(library->api().device_count, &count); code != NvmlReturn::success)
    discovery.findings.push_back(blocked_finding(kind, "", Obstacle::nvml_failed, library->describe(code)));
  for (unsigned index = 0; index < count; ++index) probe_gpu(index, discovery);
  if (discovery.findings.empty()) discovery.findings.push_back(absent_finding(kind, "", Obstacle::nvml_no_gpu));
  return discovery;
}

}  // namespace joulery
