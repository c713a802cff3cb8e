#include "sense/intel/level_zero.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "sense/accelerator_channels.h"
#include "sense/function_meter.h"
#include "sense/intel/level_zero_api.h"
#include "sense/obstacles.h"
#include "sense/pci_accelerators.h"

namespace joulery {
namespace {

constexpr std::string_view kind = "level_zero";
using Handle = LevelZeroApi::Handle;
constexpr double over_limit = 2.0;
constexpr double ten_thousandth = 1e-4;

constexpr Advice no_gpu{"this machine has no Intel GPU", ""};
constexpr Advice no_library{"there is an Intel GPU, but libze_loader.so.1 is not installed",
                            "sudo apt-get install libze1  # and Intel's driver for it: libze-intel-gpu1 or intel-level-zero-gpu"};
constexpr Advice no_driver{"Level Zero finds no driver for the Intel GPU",
                           "sudo apt-get install libze-intel-gpu1  # intel-level-zero-gpu in Intel's own repository\n"
                           "sudo usermod -aG render \"$USER\"  # and log in again: /dev/dri/render* must be open to you"};
constexpr Advice no_permission{"Level Zero may not read the GPU's counters", "sudo usermod -aG render \"$USER\"  # and log in again"};
constexpr Advice failed{"Level Zero does not answer", ""};
constexpr Advice no_energy{
    "this GPU tells no energy, as most graphics units within a processor: their energy is part of its own (RAPL uncore)", ""};
constexpr Advice not_on_bus{"the PCI bus shows no card at this address", ""};

MissingReason reason_of(ZeResult result) {
  switch (result) {
    case ZeResult::unsupported_feature:
    case ZeResult::unsupported_version:
    case ZeResult::no_function: return MissingReason::not_supported;
    case ZeResult::no_permission: return MissingReason::permission;
    case ZeResult::device_lost:
    case ZeResult::needs_reset: return MissingReason::device_lost;
    case ZeResult::not_available: return MissingReason::timed_out;
    default: return MissingReason::io_error;
  }
}

// The handles that a function of two calls (count, then fill) gives.
template <class List>
std::vector<Handle> handles(List list) {
  std::uint32_t count = 0;
  if (list(&count, nullptr) != ZeResult::success || count == 0 || count > 1024) return {};
  std::vector<Handle> all(count);
  if (list(&count, all.data()) != ZeResult::success) return {};
  all.resize(std::min<std::size_t>(count, all.size()));
  return all;
}

using Count = std::expected<std::int64_t, MissingReason>;

Count read_energy(const LevelZeroApi& api, Handle domain) {
  ZesEnergyCounter counter;
  const ZeResult result = call(api.energy, domain, &counter);
  if (result != ZeResult::success) return std::unexpected(reason_of(result));
  return static_cast<std::int64_t>(counter.microjoules);
}

// How busy the engines were since the last look, which the library tells as two counters of time.
class Activity {
 public:
  Activity(const LevelZeroApi& api, Handle engine) : api_(api), engine_(engine) { call(api_.engine_activity, engine_, &last_); }
  Count operator()() {
    ZesEngineStats now;
    if (const ZeResult result = call(api_.engine_activity, engine_, &now); result != ZeResult::success)
      return std::unexpected(reason_of(result));
    const ZesEngineStats before = last_;
    if (now.microseconds == before.microseconds) return share_;  // not refreshed since
    last_ = now;
    if (now.microseconds < before.microseconds || now.active_microseconds < before.active_microseconds)
      return std::unexpected(MissingReason::rubbish);
    const double share = static_cast<double>(now.active_microseconds - before.active_microseconds) /
                         static_cast<double>(now.microseconds - before.microseconds);
    return share_ = to_whole(std::min(share, 1.0) / ten_thousandth);
  }

 private:
  LevelZeroApi api_;
  Handle engine_;
  ZesEngineStats last_;
  std::int64_t share_ = 0;
};

Count read_memory(const LevelZeroApi& api, const std::vector<Handle>& modules, bool total) {
  std::uint64_t bytes = 0;
  for (Handle module : modules) {
    ZesMemoryState state;
    if (const ZeResult result = call(api.memory_state, module, &state); result != ZeResult::success)
      return std::unexpected(reason_of(result));
    if (state.free > state.size) return std::unexpected(MissingReason::rubbish);
    bytes += total ? state.size : state.size - state.free;
  }
  return static_cast<std::int64_t>(bytes);
}

struct Domain {
  Handle handle;
  ZesPowerProperties properties;
  ZesPowerDomain level = ZesPowerDomain::unknown;
};

std::vector<Domain> domains_of(const LevelZeroApi& api, Handle device) {
  std::vector<Domain> domains;
  for (Handle handle : handles([&](std::uint32_t* count, Handle* to) { return call(api.power_domains, device, count, to); })) {
    Domain domain{handle, {}};
    ZesPowerExtension extension;
    domain.properties.next = &extension;
    call(api.power_properties, handle, &domain.properties);
    domain.properties.next = nullptr;
    domain.level = extension.domain;
    domains.push_back(domain);
  }
  return domains;
}

// The domain of the whole card: the one that says so, else the first that is on no tile; -1 where there is none.
std::ptrdiff_t whole_card(const std::vector<Domain>& domains) {
  const auto whole = [](const Domain& d) { return !d.properties.on_subdevice; };
  auto at = std::ranges::find_if(domains, [&](const Domain& d) { return whole(d) && d.level == ZesPowerDomain::card; });
  if (at == domains.end()) at = std::ranges::find_if(domains, whole);
  return at == domains.end() ? -1 : at - domains.begin();
}

// What a domain is called below its card: "" for the card itself.
std::string part_of(const Domain& domain, bool is_card) {
  if (is_card) return {};
  if (domain.properties.on_subdevice) return "tile-" + std::to_string(domain.properties.subdevice);
  return domain.level == ZesPowerDomain::stack ? "stack" : "pkg";
}

class Builder {
 public:
  Builder(const LevelZeroApi& api, Handle device, Component component) : api_(api), device_(device), component_(std::move(component)) {}

  // False where the card tells no energy.
  bool add_energy() {
    const std::vector<Domain> domains = domains_of(api_, device_);
    const std::ptrdiff_t card = whole_card(domains);
    for (std::size_t i = 0; i < domains.size(); ++i) {
      const std::string part = part_of(domains[i], static_cast<std::ptrdiff_t>(i) == card);
      const Component component(component_.path() + (part.empty() ? "" : "/" + part));
      if (has(component) || !read_energy(api_, domains[i].handle)) continue;
      const std::int32_t limit = domains[i].properties.greatest_limit;
      const Power most = limit > 0 ? watts(limit * 1e-3 * over_limit) : most_accelerator_power;
      meter_->add(accelerator_energy(component, part.empty() ? "energy" : "energy " + part, 1e-6, most),
                  [api = api_, domain = domains[i].handle] { return read_energy(api, domain); });
    }
    return !meter_->channels().empty();
  }

  void add_load() {
    for (Handle engine : handles([&](std::uint32_t* count, Handle* to) { return call(api_.engines, device_, count, to); })) {
      ZesEngineProperties properties;
      if (call(api_.engine_properties, engine, &properties) != ZeResult::success || properties.group != 0 || properties.on_subdevice)
        continue;
      meter_->add(accelerator_channel(component_, "utilisation", Measurand::utilisation, Behaviour::gauge, ten_thousandth),
                  Activity(api_, engine));
      break;
    }
    const auto modules = handles([&](std::uint32_t* count, Handle* to) { return call(api_.memories, device_, count, to); });
    if (modules.empty() || !read_memory(api_, modules, true)) return;
    meter_->add(accelerator_channel(component_, "memory", Measurand::memory, Behaviour::gauge, 1),
                [api = api_, modules] { return read_memory(api, modules, false); });
    meter_->add(accelerator_channel(component_, "memory_total", Measurand::memory, Behaviour::constant, 1),
                [api = api_, modules] { return read_memory(api, modules, true); });
  }

  std::unique_ptr<Meter> finish() { return std::move(meter_); }

 private:
  bool has(const Component& component) const {
    return std::ranges::any_of(meter_->channels(), [&](const Channel& c) { return c.component == component; });
  }

  LevelZeroApi api_;
  Handle device_;
  Component component_;
  std::unique_ptr<FunctionMeter> meter_ = std::make_unique<FunctionMeter>();
};

void probe_device(const LevelZeroApi& api, Handle device, const std::vector<PciCard>& bus, Discovery& discovery) {
  ZesPciProperties pci;
  call(api.pci, device, &pci);
  ZesDeviceProperties properties;
  call(api.properties, device, &properties);
  properties.core.name[sizeof properties.core.name - 1] = '\0';
  const std::string address = pci_address(pci.domain, pci.bus, pci.device, pci.function);
  const std::string name = address + (properties.core.name[0] ? " " + std::string(properties.core.name) : "");
  const auto component = card_component(bus, intel_pci, address);
  if (!component) return discovery.findings.push_back(blocked_finding(kind, name, not_on_bus));
  Builder builder(api, device, *component);
  const bool burns = builder.add_energy();
  builder.add_load();
  if (!burns) return discovery.findings.push_back(blocked_finding(kind, name, no_energy));
  discovery.findings.push_back(readable_finding(kind, name));
  discovery.devices.push_back({std::string(kind), name, true, builder.finish()});
}

Finding not_started(ZeResult result) {
  const std::string detail = fmt::format("result {:#x}", static_cast<std::uint32_t>(result));
  switch (result) {
    case ZeResult::uninitialized:
    case ZeResult::no_dependency: return blocked_finding(kind, "", no_driver, detail);
    case ZeResult::no_permission: return blocked_finding(kind, "", no_permission, detail);
    default: return blocked_finding(kind, "", failed, detail);
  }
}

}  // namespace

Discovery probe_level_zero(const Machine& machine) {
  const std::vector<PciCard> bus = pci_cards(machine, intel_pci);
  if (bus.empty()) return {{}, {absent_finding(kind, "", no_gpu)}};
  const LevelZeroApi api = LevelZeroApi::load();
  if (!api.loaded()) return {{}, {blocked_finding(kind, "", no_library)}};
  if (const ZeResult result = api.start(); result != ZeResult::success) return {{}, {not_started(result)}};
  Discovery discovery;
  for (Handle driver : handles([&](std::uint32_t* count, Handle* to) { return call(api.drivers, count, to); }))
    for (Handle device : handles([&](std::uint32_t* count, Handle* to) { return call(api.devices, driver, count, to); }))
      probe_device(api, device, bus, discovery);
  if (discovery.findings.empty()) discovery.findings.push_back(blocked_finding(kind, "", no_driver));
  return discovery;
}

}  // namespace joulery
