#include "sense/nvidia/nvml.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "sense/nvidia/nvml_meter.h"
#include "sense/obstacles.h"

namespace joulery {
namespace {

constexpr std::string_view kind = "nvml";
using Device = NvmlApi::Device;

constexpr Advice jetson_advice{
    "a Jetson: its driver's library answers, and tells neither energy nor power; the board's own power rails do (INA3221, under hwmon)",
    ""};

// Above its power limit a GPU goes for milliseconds only, but by as much again. Without limits: twice the largest GPU sold.
constexpr double over_limit = 2.0, watts_without_limit = 2400;

Power greatest_power(const NvmlApi& api, Device device) {
  unsigned least = 0, greatest = 0;
  if (call(api.power_limits, device, &least, &greatest) != NvmlReturn::success || greatest == 0) return watts(watts_without_limit);
  return watts(greatest * 1e-3 * over_limit);
}

GpuFacts facts_of(const NvmlLibrary& library, Device device, unsigned index) {
  GpuFacts facts;
  facts.component = Component("node/gpu/" + std::to_string(index));
  facts.module = Component("node/module/" + std::to_string(index));
  call(library.api().architecture, device, &facts.generation.architecture);
  call(library.api().compute_capability, device, &facts.generation.cc_major, &facts.generation.cc_minor);
  facts.generation.driver = library.driver();
  facts.max_power = greatest_power(library.api(), device);
  return facts;
}

// "0000:1b:00.0" as Linux writes it; "" where unknown.
std::string pci_address(const NvmlApi& api, Device device) {
  NvmlPci pci{};
  if (call(api.pci, device, &pci) != NvmlReturn::success) return {};
  return fmt::format("{:04x}:{:02x}:{:02x}.0", pci.domain, pci.bus, pci.device);
}

// "GPU-5b4e… 0000:1b:00.0 NVIDIA H100": indices change with the next boot, these do not.
std::string gpu_name(const NvmlApi& api, Device device, unsigned index) {
  std::string name = nvml_text(api.uuid, device);
  if (name.empty()) name = "gpu-" + std::to_string(index);
  for (const std::string& word : {pci_address(api, device), nvml_text(api.name, device)})
    if (!word.empty()) name += " " + word;
  return name;
}

std::string slice_list(const std::vector<MigSlice>& slices) {
  std::string text;
  for (const MigSlice& slice : slices) text += fmt::format("{}{}/{}", text.empty() ? "" : ", ", slice.gpu_instance, slice.compute_instance);
  return text.empty() ? "none yet" : text;
}

// What whoever reads the figures must know.
std::vector<std::string> remarks_on(const NvmlLibrary& library, Device device, const std::vector<MigSlice>& slices) {
  std::vector<std::string> remarks;
  if (is_partitioned(library.api(), device))
    remarks.push_back("partitioned (MIG): energy and power are the whole board's, shared by its slices (" + slice_list(slices) + ")");
  std::string lacking;
  for (const std::string& function : library.lacking()) lacking += (lacking.empty() ? "" : ", ") + function;
  if (!lacking.empty()) remarks.push_back("the driver's library lacks " + lacking);
  return remarks;
}

std::string in_one_line(const std::vector<std::string>& remarks) {
  std::string line;
  for (const std::string& remark : remarks) line += (line.empty() ? "" : "; ") + remark;
  return line;
}

bool is_jetson(const Machine& machine) {
  return machine.exists("/etc/nv_tegra_release") ||
         machine.read_or_empty("/proc/device-tree/compatible").find("nvidia,tegra") != std::string::npos;
}

void probe_gpu(const Machine& machine, unsigned index, Discovery& discovery) {
  const std::string number = "gpu " + std::to_string(index);
  auto library = NvmlLibrary::open();
  if (!library) return discovery.findings.push_back(blocked_finding(kind, number, Obstacle::nvml_failed));
  Device device = nullptr;
  if (const NvmlReturn code = call(library->api().device_by_index, index, &device); code != NvmlReturn::success)
    return discovery.findings.push_back(blocked_finding(kind, number, Obstacle::nvml_failed, library->describe(code)));
  const std::string name = gpu_name(library->api(), device, index);
  std::vector<MigSlice> slices = mig_slices(library->api(), device);
  std::vector<std::string> remarks = remarks_on(*library, device, slices);
  const GpuFacts facts = facts_of(*library, device, index);
  std::string uuid = nvml_text(library->api().uuid, device);
  auto meter = std::make_unique<NvmlMeter>(*std::move(library), device, std::move(uuid), facts, std::move(slices));
  if (!meter->burns())
    return discovery.findings.push_back(is_jetson(machine) ? blocked_finding(kind, name, jetson_advice)
                                                           : blocked_finding(kind, name, Obstacle::nvml_no_energy));
  if (meter->module())
    remarks.emplace_back("one module with a CPU: the module's energy and power hold the GPU's, and are never added to it");
  Finding finding = readable_finding(kind, name);
  finding.reason = in_one_line(remarks);
  discovery.findings.push_back(std::move(finding));
  discovery.devices.push_back({.kind = std::string(kind),
                               .name = name,
                               .slow = true,
                               .meter = std::move(meter),
                               .least_interval = {},
                               .remarks = std::move(remarks)});
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

bool may_have_nvml(const Machine& machine) { return machine.is_this_machine() || machine.exists("/proc/driver/nvidia/version"); }

Discovery probe_nvml(const Machine& machine) {
  Discovery discovery;
  if (!may_have_nvml(machine)) {
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
  for (unsigned index = 0; index < count; ++index) probe_gpu(machine, index, discovery);
  if (discovery.findings.empty()) discovery.findings.push_back(absent_finding(kind, "", Obstacle::nvml_no_gpu));
  return discovery;
}

}  // namespace joulery
