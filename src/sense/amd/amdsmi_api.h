// libamd_smi behind a table of functions. The declarations are our own, after amdsmi.h of ROCm 6 and 7; a function that
// this version lacks is a null pointer.
#pragma once

#include <cstdint>
#include <optional>

namespace joulery {

enum class AmdsmiStatus : std::uint32_t {
  success = 0,
  not_supported = 2,
  not_implemented = 3,
  timeout = 8,
  no_permission = 10,
  busy = 30,
  not_found = 31,
  driver_not_loaded = 34,
  no_data = 40,
  no_library = 0xFFFFFFF0,   // ours
  no_function = 0xFFFFFFF1,  // ours
};

struct AmdsmiEngineUsage {
  std::uint32_t gfx, memory, multimedia;  // per cent
  std::uint32_t reserved[13];
};
struct AmdsmiPowerCap {
  std::uint64_t cap, default_cap, dpm_cap, least, greatest;  // microwatts but for dpm_cap
  std::uint64_t reserved[3];
};
// What amdsmi_get_power_info fills; its layout has changed, so it is taken as words: see amdsmi_power().
struct AmdsmiPowerInfo {
  std::uint32_t words[128];
};
struct AmdsmiVersion {
  std::uint32_t first, second, third, fourth;  // year or, since ROCm 6.4, major version
  const char* build;
};
static_assert(sizeof(AmdsmiEngineUsage) == 64 && sizeof(AmdsmiPowerCap) == 64 && sizeof(AmdsmiVersion) == 24);

struct AmdsmiApi {
  using Handle = void*;
  std::uint32_t (*init)(std::uint64_t flags);
  std::uint32_t (*version)(AmdsmiVersion*);
  std::uint32_t (*sockets)(std::uint32_t* count, Handle*);
  std::uint32_t (*processors)(Handle socket, std::uint32_t* count, Handle*);
  std::uint32_t (*address)(Handle, std::uint64_t* bits);
  std::uint32_t (*asic)(Handle, char* info);  // 256 bytes of market name first
  std::uint32_t (*energy)(Handle, std::uint64_t* count, float* microjoules, std::uint64_t* nanoseconds);
  std::uint32_t (*power)(Handle, AmdsmiPowerInfo*);
  std::uint32_t (*power_cap)(Handle, std::uint32_t sensor, AmdsmiPowerCap*);
  std::uint32_t (*activity)(Handle, AmdsmiEngineUsage*);
  std::uint32_t (*memory_used)(Handle, std::uint32_t type, std::uint64_t* bytes);
  std::uint32_t (*memory_total)(Handle, std::uint32_t type, std::uint64_t* bytes);

  // Null functions where the library is not there.
  static AmdsmiApi load();
  bool loaded() const { return init != nullptr; }
};

template <class... Parameters, class... Arguments>
AmdsmiStatus call(std::uint32_t (*function)(Parameters...), Arguments... arguments) {
  return function ? static_cast<AmdsmiStatus>(function(arguments...)) : AmdsmiStatus::no_function;
}

// Watts of the socket: the present power where the card tells it (MI300 and later), else the average (before). Nothing
// where neither is told. `first_version`: of AmdsmiVersion; since 25 a word of 64 bits stands before the two.
std::optional<std::uint32_t> amdsmi_power(const AmdsmiPowerInfo& info, std::uint32_t first_version);

}  // namespace joulery
