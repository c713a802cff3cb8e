// Level Zero's system management (Sysman) behind a table of functions. The declarations are our own, after zes_api.h 1.8;
// a function that this loader lacks is a null pointer.
#pragma once

#include <cstdint>

namespace joulery {

enum class ZeResult : std::uint32_t {
  success = 0,
  device_lost = 0x70000001,
  needs_reset = 0x70000006,
  no_permission = 0x70010000,
  not_available = 0x70010001,
  no_dependency = 0x70020000,  // Sysman's own driver is missing
  uninitialized = 0x78000001,  // no driver
  unsupported_version = 0x78000002,
  unsupported_feature = 0x78000003,
  no_function = 0xFFFFFFF1,    // ours
};

// Each structure begins with its type and a chain of extensions, which must be filled in by the caller.
struct ZesPciProperties {
  std::uint32_t type = 0x2;
  void* next = nullptr;
  std::uint32_t domain = 0, bus = 0, device = 0, function = 0;
  std::int32_t generation = 0, width = 0;
  std::int64_t bandwidth = 0;
  std::uint8_t counters[3] = {};
};
enum class ZesPowerDomain : std::uint32_t { unknown, card, package, stack };
struct ZesPowerExtension {
  std::uint32_t type = 0x28;
  void* next = nullptr;
  ZesPowerDomain domain = ZesPowerDomain::unknown;
  void* default_limit = nullptr;
};
struct ZesPowerProperties {
  std::uint32_t type = 0xd;
  void* next = nullptr;
  std::uint8_t on_subdevice = 0;
  std::uint32_t subdevice = 0;
  std::uint8_t can_control = 0, has_threshold = 0;
  std::int32_t default_limit = -1, least_limit = -1, greatest_limit = -1;  // milliwatts; -1: not known
};
struct ZesEnergyCounter {
  std::uint64_t microjoules = 0, microseconds = 0;
};
struct ZesEngineProperties {
  std::uint32_t type = 0x5;
  void* next = nullptr;
  std::uint32_t group = 0;                                                 // 0: all engines together
  std::uint8_t on_subdevice = 0;
  std::uint32_t subdevice = 0;
};
struct ZesEngineStats {
  std::uint64_t active_microseconds = 0, microseconds = 0;
};
struct ZesMemoryState {
  std::uint32_t type = 0x1e;
  const void* next = nullptr;
  std::uint32_t health = 0;
  std::uint64_t free = 0, size = 0;                                        // bytes
};
struct ZeDeviceProperties {
  std::uint32_t type = 0x3;
  void* next = nullptr;
  std::uint32_t device_type = 0, vendor = 0, device = 0, flags = 0, subdevice = 0, clock = 0;
  std::uint64_t largest_allocation = 0;
  std::uint32_t shape[7] = {};
  std::uint64_t timer = 0;
  std::uint32_t timestamp_bits[2] = {};
  std::uint8_t uuid[16] = {};
  char name[256] = {};
};
struct ZesDeviceProperties {
  std::uint32_t type = 0x1;
  void* next = nullptr;
  ZeDeviceProperties core;
  std::uint32_t subdevices = 0;
  char texts[6][64] = {};                                                  // serial, board, brand, model, vendor, driver
};
static_assert(sizeof(ZesPciProperties) == 56 && sizeof(ZesPowerProperties) == 40 && sizeof(ZesPowerExtension) == 32);
static_assert(sizeof(ZesEngineProperties) == 32 && sizeof(ZesMemoryState) == 40 && sizeof(ZeDeviceProperties) == 368);
static_assert(sizeof(ZesDeviceProperties) == 776);

struct LevelZeroApi {
  using Handle = void*;
  std::uint32_t (*init)(std::uint32_t flags);                              // zesInit, or zeInit with ZES_ENABLE_SYSMAN=1
  std::uint32_t (*drivers)(std::uint32_t* count, Handle*);
  std::uint32_t (*devices)(Handle driver, std::uint32_t* count, Handle*);
  std::uint32_t (*properties)(Handle, ZesDeviceProperties*);
  std::uint32_t (*pci)(Handle, ZesPciProperties*);
  std::uint32_t (*power_domains)(Handle, std::uint32_t* count, Handle*);
  std::uint32_t (*power_properties)(Handle, ZesPowerProperties*);
  std::uint32_t (*energy)(Handle, ZesEnergyCounter*);
  std::uint32_t (*engines)(Handle, std::uint32_t* count, Handle*);
  std::uint32_t (*engine_properties)(Handle, ZesEngineProperties*);
  std::uint32_t (*engine_activity)(Handle, ZesEngineStats*);
  std::uint32_t (*memories)(Handle, std::uint32_t* count, Handle*);
  std::uint32_t (*memory_state)(Handle, ZesMemoryState*);

  // Null functions where the loader is not there.
  static LevelZeroApi load();
  bool loaded() const { return init != nullptr; }
  // Initialises Sysman. Before loader 1.9 that takes an environment variable; it is taken back afterwards, for the command
  // that we run must see the environment that we were given. No other thread may run.
  ZeResult start() const;

  bool by_environment = false;
};

template <class... Parameters, class... Arguments>
ZeResult call(std::uint32_t (*function)(Parameters...), Arguments... arguments) {
  return function ? static_cast<ZeResult>(function(arguments...)) : ZeResult::no_function;
}

}  // namespace joulery
