#include "sense/amd/amdsmi_api.h"

#include "core/shared_library.h"

namespace joulery {

AmdsmiApi AmdsmiApi::load() {
  AmdsmiApi api{};
  const auto library = SharedLibrary::open(
      {"libamd_smi.so", "libamd_smi.so.26", "libamd_smi.so.25", "libamd_smi.so.24", "libamd_smi.so.23", "/opt/rocm/lib/libamd_smi.so"});
  library.find(api.init, "amdsmi_init");
  library.find(api.version, "amdsmi_get_lib_version");
  library.find(api.sockets, "amdsmi_get_socket_handles");
  library.find(api.processors, "amdsmi_get_processor_handles");
  library.find(api.address, "amdsmi_get_gpu_device_bdf");
  library.find(api.asic, "amdsmi_get_gpu_asic_info");
  library.find(api.energy, "amdsmi_get_energy_count");
  library.find(api.power, "amdsmi_get_power_info");
  library.find(api.power_cap, "amdsmi_get_power_cap_info");
  library.find(api.activity, "amdsmi_get_gpu_activity");
  library.find(api.memory_used, "amdsmi_get_gpu_memory_usage");
  library.find(api.memory_total, "amdsmi_get_gpu_memory_total");
  return api;
}

std::optional<std::uint32_t> amdsmi_power(const AmdsmiPowerInfo& info, std::uint32_t first_version) {
  constexpr std::uint32_t wide_since = 25;
  const std::size_t at = first_version >= wide_since ? 2 : 0;
  for (const std::uint32_t value : {info.words[at], info.words[at + 1]})
    if (value < 0xFFFF) return value;  // 16 or 32 bits of ones: not told
  return std::nullopt;
}

}  // namespace joulery
