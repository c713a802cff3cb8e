#include "sense/nvidia/nvml_api.h"

#include <dlfcn.h>

#include <initializer_list>
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

NvmlApi load(void* handle) {
  NvmlApi api{};
  find(handle, api.init, {"nvmlInit_v2", "nvmlInit"});
  find(handle, api.shutdown, {"nvmlShutdown"});
  find(handle, api.error_string, {"nvmlErrorString"});
  find(handle, api.device_count, {"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"});
  find(handle, api.device_by_index, {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"});
  find(handle, api.name, {"nvmlDeviceGetName"});
  find(handle, api.uuid, {"nvmlDeviceGetUUID"});
  find(handle, api.architecture, {"nvmlDeviceGetArchitecture"});
  find(handle, api.compute_capability, {"nvmlDeviceGetCudaComputeCapability"});
  find(handle, api.total_energy, {"nvmlDeviceGetTotalEnergyConsumption"});
  find(handle, api.power_usage, {"nvmlDeviceGetPowerUsage"});
  find(handle, api.power_limits, {"nvmlDeviceGetPowerManagementLimitConstraints"});
  find(handle, api.utilization, {"nvmlDeviceGetUtilizationRates"});
  find(handle, api.memory_info, {"nvmlDeviceGetMemoryInfo"});
  find(handle, api.clock_info, {"nvmlDeviceGetClockInfo"});
  find(handle, api.clock_event_reasons, {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"});
  return api;
}

}  // namespace

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

}  // namespace joulery
