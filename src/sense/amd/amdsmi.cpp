#include "sense/amd/amdsmi.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "sense/amd/amd_advice.h"
#include "sense/amd/amd_cards.h"
#include "sense/amd/amdsmi_api.h"
#include "sense/pci_accelerators.h"

namespace joulery {
namespace {

constexpr std::string_view kind = "amdsmi";
constexpr std::uint64_t gpus_only = 2;  // AMDSMI_INIT_AMD_GPUS
constexpr std::uint32_t video_memory = 0;
using Handle = AmdsmiApi::Handle;

constexpr Advice no_library{"there is an AMD GPU, but libamd_smi.so is not installed",
                            "sudo apt-get install amd-smi-lib  # from AMD's ROCm repository\n"
                            "sudo apt-get install librocm-smi64-1  # Debian's older library serves too"};
constexpr Advice failed{"AMD's library does not answer", "amd-smi list  # shows whether the driver works at all"};

MissingReason reason_of(AmdsmiStatus status) {
  switch (status) {
    case AmdsmiStatus::not_supported:
    case AmdsmiStatus::not_implemented:
    case AmdsmiStatus::no_function: return MissingReason::not_supported;
    case AmdsmiStatus::no_permission: return MissingReason::permission;
    case AmdsmiStatus::timeout:
    case AmdsmiStatus::busy: return MissingReason::timed_out;
    case AmdsmiStatus::not_found:
    case AmdsmiStatus::no_data: return MissingReason::gone;
    case AmdsmiStatus::driver_not_loaded: return MissingReason::device_lost;
    default: return MissingReason::io_error;
  }
}

using Count = std::expected<std::int64_t, MissingReason>;
Count counted(AmdsmiStatus status, std::uint64_t value) {
  if (status != AmdsmiStatus::success) return std::unexpected(reason_of(status));
  return static_cast<std::int64_t>(value);
}

std::expected<AmdEnergy, MissingReason> read_energy(const AmdsmiApi& api, Handle handle) {
  std::uint64_t count = 0, nanoseconds = 0;
  float resolution = 0;
  const AmdsmiStatus status = call(api.energy, handle, &count, &resolution, &nanoseconds);
  if (status != AmdsmiStatus::success) return std::unexpected(reason_of(status));
  if (!(resolution > 0)) return std::unexpected(MissingReason::rubbish);
  return AmdEnergy{count, amd_resolution(resolution)};
}

Count read_power(const AmdsmiApi& api, Handle handle, std::uint32_t version) {
  AmdsmiPowerInfo info{};
  if (const AmdsmiStatus status = call(api.power, handle, &info); status != AmdsmiStatus::success)
    return std::unexpected(reason_of(status));
  const auto watts = amdsmi_power(info, version);
  if (!watts) return std::unexpected(MissingReason::not_supported);
  return static_cast<std::int64_t>(*watts);
}

Count read_utilisation(const AmdsmiApi& api, Handle handle) {
  AmdsmiEngineUsage usage{};
  const AmdsmiStatus status = call(api.activity, handle, &usage);
  if (status == AmdsmiStatus::success && usage.gfx > 100) return std::unexpected(MissingReason::not_supported);
  return counted(status, usage.gfx);
}

Count read_memory(const AmdsmiApi& api, Handle handle, bool total) {
  std::uint64_t bytes = 0;
  const AmdsmiStatus status = call(total ? api.memory_total : api.memory_used, handle, video_memory, &bytes);
  return counted(status, bytes);
}

AmdCard card_of(const AmdsmiApi& api, Handle handle, std::uint32_t version) {
  AmdCard card;
  std::uint64_t bits = 0;
  if (call(api.address, handle, &bits) == AmdsmiStatus::success)
    card.address = pci_address(bits >> 16, bits >> 8 & 0xff, bits >> 3 & 0x1f, bits & 7);
  std::array<char, 4096> asic{};
  if (call(api.asic, handle, asic.data()) == AmdsmiStatus::success) card.name = std::string(asic.data(), ::strnlen(asic.data(), 256));
  AmdsmiPowerCap cap{};
  if (call(api.power_cap, handle, 0u, &cap) == AmdsmiStatus::success) card.cap = watts(static_cast<double>(cap.greatest) * 1e-6);
  card.energy = [api, handle] { return read_energy(api, handle); };
  card.power = [api, handle, version] { return read_power(api, handle, version); };
  card.utilisation = [api, handle] { return read_utilisation(api, handle); };
  card.memory_used = [api, handle] { return read_memory(api, handle, false); };
  card.memory_total = [api, handle] { return read_memory(api, handle, true); };
  return card;
}

// The handles that a function of two calls (count, then fill) gives.
template <class List>
std::vector<Handle> handles(List list) {
  std::uint32_t count = 0;
  if (list(&count, nullptr) != AmdsmiStatus::success || count == 0 || count > 1024) return {};
  std::vector<Handle> all(count);
  if (list(&count, all.data()) != AmdsmiStatus::success) return {};
  all.resize(std::min<std::size_t>(count, all.size()));
  return all;
}

std::vector<AmdCard> cards_of(const AmdsmiApi& api) {
  AmdsmiVersion version{};
  call(api.version, &version);
  std::vector<AmdCard> cards;
  for (Handle socket : handles([&](std::uint32_t* count, Handle* to) { return call(api.sockets, count, to); }))
    for (Handle gpu : handles([&](std::uint32_t* count, Handle* to) { return call(api.processors, socket, count, to); }))
      cards.push_back(card_of(api, gpu, version.first));
  return cards;
}

Advice advice_for(AmdsmiStatus status) {
  switch (status) {
    case AmdsmiStatus::driver_not_loaded: return amd_no_driver;
    case AmdsmiStatus::no_permission: return amd_no_permission;
    default: return failed;
  }
}

}  // namespace

bool amdsmi_serves() {
  const AmdsmiApi api = AmdsmiApi::load();
  std::uint32_t sockets = 0;
  return call(api.init, gpus_only) == AmdsmiStatus::success && call(api.sockets, &sockets, nullptr) == AmdsmiStatus::success && sockets > 0;
}

Discovery probe_amdsmi(const Machine& machine) {
  if (pci_cards(machine, amd_pci).empty()) return {{}, {absent_finding(kind, "", amd_no_gpu)}};
  const AmdsmiApi api = AmdsmiApi::load();
  if (!api.loaded()) return {{}, {blocked_finding(kind, "", no_library)}};
  if (const AmdsmiStatus status = call(api.init, gpus_only); status != AmdsmiStatus::success)
    return {{}, {blocked_finding(kind, "", advice_for(status), "status " + std::to_string(static_cast<std::uint32_t>(status)))}};
  Discovery discovery = amd_discovery(machine, kind, cards_of(api));
  if (discovery.findings.empty()) discovery.findings.push_back(blocked_finding(kind, "", failed, "it shows no GPU"));
  return discovery;
}

}  // namespace joulery
