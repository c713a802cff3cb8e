#include "sense/habana/hlml.h"

#include <array>
#include <cstring>

#include "core/shared_library.h"
#include "sense/accelerator_channels.h"
#include "sense/function_meter.h"
#include "sense/obstacles.h"
#include "sense/pci_accelerators.h"

namespace joulery {
namespace {

constexpr std::string_view kind = "hlml";
constexpr double over_limit = 2.0;
using Handle = void*;

constexpr Advice no_card{"this machine has no Habana Gaudi", ""};
constexpr Advice no_library{"there is a Gaudi, but libhlml.so is not installed",
                            "sudo apt-get install habanalabs-firmware-tools  # from Habana's repository"};
constexpr Advice no_driver{"the habanalabs driver is not loaded", "sudo modprobe habanalabs"};
constexpr Advice failed{"Habana's library does not answer", "hl-smi  # shows whether the driver works at all"};
constexpr Advice no_energy{"this card reports neither energy nor power", ""};
constexpr Advice not_on_bus{"the PCI bus shows no card at this address", ""};

// Return codes as in libhlml's Python binding.
enum class Hlml : unsigned {
  success = 0,
  not_supported = 3,
  already_initialized = 5,
  not_found = 6,
  driver_not_loaded = 9,
  timeout = 10,
  lost = 11,
  no_data = 13,
  no_function = 0xFFFFFFF1,  // ours
};

struct HlmlMemory {
  unsigned long long free, total, used;  // bytes
};
struct HlmlPci {
  unsigned bus;
  char bus_id[15];
  unsigned device, domain, pci_id;
  char link[20];
  char room[128];  // later versions may tell more
};

struct HlmlApi {
  unsigned (*init)();
  unsigned (*count)(unsigned*);
  unsigned (*by_index)(unsigned, Handle*);
  unsigned (*name)(Handle, char*, unsigned);
  unsigned (*pci)(Handle, HlmlPci*);
  unsigned (*energy)(Handle, unsigned long long* millijoules);
  unsigned (*power)(Handle, unsigned* milliwatts);
  unsigned (*limit)(Handle, unsigned* milliwatts);
  unsigned (*utilisation)(Handle, unsigned* per_cent);
  unsigned (*memory)(Handle, HlmlMemory*);

  static HlmlApi load() {
    HlmlApi api{};
    const auto library = SharedLibrary::open({"libhlml.so", "/usr/lib/habanalabs/libhlml.so"});
    library.find(api.init, "hlml_init");
    library.find(api.count, "hlml_device_get_count");
    library.find(api.by_index, "hlml_device_get_handle_by_index");
    library.find(api.name, "hlml_device_get_name");
    library.find(api.pci, "hlml_device_get_pci_info");
    library.find(api.energy, "hlml_device_get_total_energy_consumption");
    library.find(api.power, "hlml_device_get_power_usage");
    library.find(api.limit, "hlml_device_get_power_management_default_limit");
    library.find(api.utilisation, "hlml_device_get_utilization_rates");
    library.find(api.memory, "hlml_device_get_memory_info");
    return api;
  }
};

template <class... Parameters, class... Arguments>
Hlml invoke(unsigned (*function)(Parameters...), Arguments... arguments) {
  return function ? static_cast<Hlml>(function(arguments...)) : Hlml::no_function;
}

MissingReason reason_of(Hlml code) {
  switch (code) {
    case Hlml::not_supported:
    case Hlml::no_function: return MissingReason::not_supported;
    case Hlml::timeout: return MissingReason::timed_out;
    case Hlml::lost: return MissingReason::device_lost;
    case Hlml::not_found:
    case Hlml::no_data: return MissingReason::gone;
    default: return MissingReason::io_error;
  }
}

using Count = std::expected<std::int64_t, MissingReason>;
template <class Value>
Count counted(Hlml code, const Value& value) {
  if (code != Hlml::success) return std::unexpected(reason_of(code));
  return static_cast<std::int64_t>(value);
}

Count read_energy(const HlmlApi& api, Handle card) {
  unsigned long long millijoules = 0;
  const Hlml code = invoke(api.energy, card, &millijoules);
  return counted(code, millijoules);
}

Count read_power(const HlmlApi& api, Handle card) {
  unsigned milliwatts = 0;
  const Hlml code = invoke(api.power, card, &milliwatts);
  return counted(code, milliwatts);
}

Count read_utilisation(const HlmlApi& api, Handle card) {
  unsigned per_cent = 0;
  const Hlml code = invoke(api.utilisation, card, &per_cent);
  return counted(code, per_cent);
}

Count read_memory(const HlmlApi& api, Handle card, bool total) {
  HlmlMemory memory{};
  const Hlml code = invoke(api.memory, card, &memory);
  return counted(code, total ? memory.total : memory.used);
}

Power greatest_power(const HlmlApi& api, Handle card) {
  unsigned milliwatts = 0;
  if (invoke(api.limit, card, &milliwatts) != Hlml::success || milliwatts == 0) return most_accelerator_power;
  return watts(milliwatts * 1e-3 * over_limit);
}

// The address as libhlml writes it, "0000:19:00.0".
std::string address_of(const HlmlApi& api, Handle card) {
  HlmlPci pci{};
  if (invoke(api.pci, card, &pci) != Hlml::success) return {};
  return std::string(pci.bus_id, ::strnlen(pci.bus_id, sizeof pci.bus_id));
}

std::unique_ptr<FunctionMeter> meter_for(const HlmlApi& api, Handle card, const Component& component) {
  auto meter = std::make_unique<FunctionMeter>();
  const Power most = greatest_power(api, card);
  if (read_energy(api, card)) {
    Channel energy = accelerator_energy(component, "energy", 1e-3, most);
    energy.always_burns = true;
    meter->add(std::move(energy), [api, card] { return read_energy(api, card); });
  }
  if (read_power(api, card)) meter->add(accelerator_power(component, "power", 1e-3, most), [api, card] { return read_power(api, card); });
  if (meter->channels().empty()) return meter;
  if (read_utilisation(api, card))
    meter->add(accelerator_channel(component, "utilisation", Measurand::utilisation, Behaviour::gauge, 1e-2),
               [api, card] { return read_utilisation(api, card); });
  if (!read_memory(api, card, true)) return meter;
  meter->add(accelerator_channel(component, "memory", Measurand::memory, Behaviour::gauge, 1),
             [api, card] { return read_memory(api, card, false); });
  meter->add(accelerator_channel(component, "memory_total", Measurand::memory, Behaviour::constant, 1),
             [api, card] { return read_memory(api, card, true); });
  return meter;
}

void probe_card(const HlmlApi& api, unsigned index, const std::vector<PciCard>& bus, Discovery& discovery) {
  Handle card = nullptr;
  if (invoke(api.by_index, index, &card) != Hlml::success)
    return discovery.findings.push_back(blocked_finding(kind, "card " + std::to_string(index), failed));
  std::array<char, 64> text{};
  invoke(api.name, card, text.data(), static_cast<unsigned>(text.size() - 1));
  const std::string address = address_of(api, card);
  const std::string name = address + (text[0] ? " " + std::string(text.data()) : "");
  const auto component = card_component(bus, habana_pci, address);
  if (!component) return discovery.findings.push_back(blocked_finding(kind, name, not_on_bus));
  auto meter = meter_for(api, card, *component);
  if (meter->channels().empty()) return discovery.findings.push_back(blocked_finding(kind, name, no_energy));
  discovery.findings.push_back(readable_finding(kind, name));
  discovery.devices.push_back({std::string(kind), name, true, std::move(meter)});
}

}  // namespace

Discovery probe_hlml(const Machine& machine) {
  const std::vector<PciCard> bus = pci_cards(machine, habana_pci);
  if (bus.empty()) return {{}, {absent_finding(kind, "", no_card)}};
  const HlmlApi api = HlmlApi::load();
  if (!api.init) return {{}, {blocked_finding(kind, "", no_library)}};
  const Hlml started = invoke(api.init);
  if (started != Hlml::success && started != Hlml::already_initialized)
    return {{},
            {blocked_finding(kind, "", started == Hlml::driver_not_loaded ? no_driver : failed,
                             "code " + std::to_string(static_cast<unsigned>(started)))}};
  unsigned count = 0;
  invoke(api.count, &count);
  Discovery discovery;
  for (unsigned index = 0; index < count; ++index) probe_card(api, index, bus, discovery);
  if (discovery.findings.empty()) discovery.findings.push_back(blocked_finding(kind, "", failed, "it shows no card"));
  return discovery;
}

}  // namespace joulery
