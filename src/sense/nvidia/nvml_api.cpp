#include "sense/nvidia/nvml_api.h"

#include <dlfcn.h>

#include <array>
#include <charconv>
#include <initializer_list>
#include <string_view>
#include <utility>

namespace joulery {
namespace {

constexpr const char* library = "libnvidia-ml.so.1";

// The first of these names that the library has; null where it has none.
template <class Function>
void find(void* handle, Function*& function, std::initializer_list<const char*> names) {
  function = nullptr;
  for (const char* name : names)
    if (!function) function = reinterpret_cast<Function*>(::dlsym(handle, name));
}

void load_basics(void* handle, NvmlApi& api) {
  find(handle, api.init, {"nvmlInit_v2", "nvmlInit"});
  find(handle, api.shutdown, {"nvmlShutdown"});
  find(handle, api.error_string, {"nvmlErrorString"});
  find(handle, api.driver_version, {"nvmlSystemGetDriverVersion"});
  find(handle, api.device_count, {"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"});
  find(handle, api.device_by_index, {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"});
  find(handle, api.device_by_uuid, {"nvmlDeviceGetHandleByUUID"});
  find(handle, api.name, {"nvmlDeviceGetName"});
  find(handle, api.uuid, {"nvmlDeviceGetUUID"});
  find(handle, api.pci, {"nvmlDeviceGetPciInfo_v3"});
  find(handle, api.architecture, {"nvmlDeviceGetArchitecture"});
  find(handle, api.compute_capability, {"nvmlDeviceGetCudaComputeCapability"});
}

void load_readings(void* handle, NvmlApi& api) {
  find(handle, api.field_values, {"nvmlDeviceGetFieldValues"});
  find(handle, api.total_energy, {"nvmlDeviceGetTotalEnergyConsumption"});
  find(handle, api.power_usage, {"nvmlDeviceGetPowerUsage"});
  find(handle, api.power_limits, {"nvmlDeviceGetPowerManagementLimitConstraints"});
  find(handle, api.enforced_limit, {"nvmlDeviceGetEnforcedPowerLimit"});
  find(handle, api.utilization, {"nvmlDeviceGetUtilizationRates"});
  find(handle, api.memory_info, {"nvmlDeviceGetMemoryInfo"});
  find(handle, api.memory_info_v2, {"nvmlDeviceGetMemoryInfo_v2"});
  find(handle, api.clock_info, {"nvmlDeviceGetClockInfo"});
  find(handle, api.clock_event_reasons, {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"});
}

void load_limits(void* handle, NvmlApi& api) {
  find(handle, api.requested_limit, {"nvmlDeviceGetPowerManagementLimit"});
  find(handle, api.standard_limit, {"nvmlDeviceGetPowerManagementDefaultLimit"});
  find(handle, api.set_limit, {"nvmlDeviceSetPowerManagementLimit"});
}

// Of the process lists the second and third version alone have the same layout; the first has another.
void load_sharing(void* handle, NvmlApi& api) {
  find(handle, api.mig_mode, {"nvmlDeviceGetMigMode"});
  find(handle, api.mig_most, {"nvmlDeviceGetMaxMigDeviceCount"});
  find(handle, api.mig_by_index, {"nvmlDeviceGetMigDeviceHandleByIndex"});
  find(handle, api.gpu_instance, {"nvmlDeviceGetGpuInstanceId"});
  find(handle, api.compute_instance, {"nvmlDeviceGetComputeInstanceId"});
  find(handle, api.compute_processes, {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"});
  find(handle, api.graphics_processes, {"nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v2"});
  find(handle, api.process_use, {"nvmlDeviceGetProcessUtilization"});
  find(handle, api.gpm_support, {"nvmlGpmQueryDeviceSupport"});
  find(handle, api.gpm_alloc, {"nvmlGpmSampleAlloc"});
  find(handle, api.gpm_free, {"nvmlGpmSampleFree"});
  find(handle, api.gpm_sample, {"nvmlGpmSampleGet"});
  find(handle, api.gpm_mig_sample, {"nvmlGpmMigSampleGet"});
  find(handle, api.gpm_metrics, {"nvmlGpmMetricsGet"});
}

NvmlApi load(void* handle) {
  NvmlApi api{};
  load_basics(handle, api);
  load_readings(handle, api);
  load_limits(handle, api);
  load_sharing(handle, api);
  return api;
}

}  // namespace

std::string nvml_text(int (*function)(NvmlApi::Device, char*, unsigned), NvmlApi::Device device) {
  std::array<char, 96> text{};
  if (call(function, device, text.data(), static_cast<unsigned>(text.size())) != NvmlReturn::success) return {};
  text.back() = '\0';
  return text.data();
}

std::expected<NvmlLibrary, NvmlReturn> NvmlLibrary::open() {
  void* handle = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!handle) return std::unexpected(NvmlReturn::library_not_found);
  const NvmlApi api = load(handle);
  if (const NvmlReturn code = call(api.init); code != NvmlReturn::success) {
    ::dlclose(handle);
    return std::unexpected(code);
  }
  return NvmlLibrary(handle, api);
}

NvmlLibrary::NvmlLibrary(NvmlLibrary&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)), api_(other.api_) {}

NvmlLibrary::~NvmlLibrary() {
  if (!handle_) return;
  call(api_.shutdown);
  ::dlclose(handle_);
}

std::string NvmlLibrary::describe(NvmlReturn code) const {
  const int number = static_cast<int>(code);
  const char* text = api_.error_string ? api_.error_string(number) : nullptr;
  return "NVML " + std::to_string(number) + (text ? std::string(": ") + text : "");
}

std::vector<std::string> NvmlLibrary::lacking() const {
  const std::pair<bool, const char*> functions[] = {
      {api_.field_values != nullptr, "nvmlDeviceGetFieldValues"},
      {api_.total_energy != nullptr, "nvmlDeviceGetTotalEnergyConsumption"},
      {api_.power_usage != nullptr, "nvmlDeviceGetPowerUsage"},
      {api_.utilization != nullptr, "nvmlDeviceGetUtilizationRates"},
      {api_.memory_info_v2 != nullptr, "nvmlDeviceGetMemoryInfo_v2"},
      {api_.clock_info != nullptr, "nvmlDeviceGetClockInfo"},
      {api_.clock_event_reasons != nullptr, "nvmlDeviceGetCurrentClocksEventReasons"},
      {api_.compute_processes != nullptr, "nvmlDeviceGetComputeRunningProcesses_v2"},
      {api_.process_use != nullptr, "nvmlDeviceGetProcessUtilization"},
      {api_.gpm_metrics != nullptr, "nvmlGpmMetricsGet"},
  };
  std::vector<std::string> lacking;
  for (const auto& [there, name] : functions)
    if (!there) lacking.emplace_back(name);
  return lacking;
}

int NvmlLibrary::driver() const {
  std::array<char, 96> text{};
  if (call(api_.driver_version, text.data(), static_cast<unsigned>(text.size())) != NvmlReturn::success) return 0;
  const std::string_view words(text.data());
  int major = 0;
  std::from_chars(words.data(), words.data() + words.size(), major);
  return major;
}

}  // namespace joulery
