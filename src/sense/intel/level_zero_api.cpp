#include "sense/intel/level_zero_api.h"

#include <cstdlib>

#include "core/shared_library.h"

namespace joulery {

LevelZeroApi LevelZeroApi::load() {
  LevelZeroApi api{};
  const auto library = SharedLibrary::open({"libze_loader.so.1"});
  library.find(api.init, "zesInit");
  library.find(api.drivers, "zesDriverGet");
  library.find(api.devices, "zesDeviceGet");
  if (!api.init || !api.drivers || !api.devices) {
    api.by_environment = true;
    library.find(api.init, "zeInit");
    library.find(api.drivers, "zeDriverGet");
    library.find(api.devices, "zeDeviceGet");
  }
  library.find(api.properties, "zesDeviceGetProperties");
  library.find(api.pci, "zesDevicePciGetProperties");
  library.find(api.power_domains, "zesDeviceEnumPowerDomains");
  library.find(api.power_properties, "zesPowerGetProperties");
  library.find(api.energy, "zesPowerGetEnergyCounter");
  library.find(api.engines, "zesDeviceEnumEngineGroups");
  library.find(api.engine_properties, "zesEngineGetProperties");
  library.find(api.engine_activity, "zesEngineGetActivity");
  library.find(api.memories, "zesDeviceEnumMemoryModules");
  library.find(api.memory_state, "zesMemoryGetState");
  return api;
}

ZeResult LevelZeroApi::start() const {
  constexpr const char* variable = "ZES_ENABLE_SYSMAN";
  const bool sets = by_environment && !std::getenv(variable);
  if (sets) ::setenv(variable, "1", 1);
  const ZeResult result = call(init, 0u);
  if (sets) ::unsetenv(variable);
  return result;
}

}  // namespace joulery
