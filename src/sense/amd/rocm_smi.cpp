#include "sense/amd/rocm_smi.h"

#include <array>
#include <cstdint>
#include <string>

#include "core/shared_library.h"
#include "sense/amd/amd_advice.h"
#include "sense/amd/amd_cards.h"
#include "sense/amd/amdsmi.h"
#include "sense/pci_accelerators.h"

namespace joulery {
namespace {

constexpr std::string_view kind = "rocm_smi";
constexpr std::uint32_t video_memory = 0, first_sensor = 0;

constexpr Advice no_library{"there is an AMD GPU, but librocm_smi64.so is not installed", "sudo apt-get install librocm-smi64-1"};
constexpr Advice failed{"AMD's library does not answer", "rocm-smi  # shows whether the driver works at all"};
constexpr Advice superseded{"not used: amdsmi measures the same", ""};

// rocm_smi.h of ROCm 5 to 7.
enum class Status : std::uint32_t {
  success = 0,
  not_supported = 2,
  permission = 4,
  init_error = 8,
  not_implemented = 9,
  no_function = 0xFFFFFFF1
};

struct RocmSmiApi {
  std::uint32_t (*init)(std::uint64_t flags);
  std::uint32_t (*count)(std::uint32_t*);
  std::uint32_t (*address)(std::uint32_t, std::uint64_t*);
  std::uint32_t (*name)(std::uint32_t, char*, std::size_t);
  std::uint32_t (*energy)(std::uint32_t, std::uint64_t* count, float* microjoules, std::uint64_t* nanoseconds);
  std::uint32_t (*power_average)(std::uint32_t, std::uint32_t sensor, std::uint64_t* microwatts);
  std::uint32_t (*power)(std::uint32_t, std::uint64_t* microwatts, std::uint32_t* type);  // since ROCm 6: whichever the card has
  std::uint32_t (*cap_range)(std::uint32_t, std::uint32_t sensor, std::uint64_t* greatest, std::uint64_t* least);
  std::uint32_t (*busy)(std::uint32_t, std::uint32_t* per_cent);
  std::uint32_t (*memory_used)(std::uint32_t, std::uint32_t type, std::uint64_t*);
  std::uint32_t (*memory_total)(std::uint32_t, std::uint32_t type, std::uint64_t*);

  static RocmSmiApi load() {
    RocmSmiApi api{};
    const auto library = SharedLibrary::open({"librocm_smi64.so", "librocm_smi64.so.7", "librocm_smi64.so.6", "librocm_smi64.so.5",
                                              "librocm_smi64.so.1", "/opt/rocm/lib/librocm_smi64.so"});
    library.find(api.init, "rsmi_init");
    library.find(api.count, "rsmi_num_monitor_devices");
    library.find(api.address, "rsmi_dev_pci_id_get");
    library.find(api.name, "rsmi_dev_name_get");
    library.find(api.energy, "rsmi_dev_energy_count_get");
    library.find(api.power_average, "rsmi_dev_power_ave_get");
    library.find(api.power, "rsmi_dev_power_get");
    library.find(api.cap_range, "rsmi_dev_power_cap_range_get");
    library.find(api.busy, "rsmi_dev_busy_percent_get");
    library.find(api.memory_used, "rsmi_dev_memory_usage_get");
    library.find(api.memory_total, "rsmi_dev_memory_total_get");
    return api;
  }
};

template <class... Parameters, class... Arguments>
Status invoke(std::uint32_t (*function)(Parameters...), Arguments... arguments) {
  return function ? static_cast<Status>(function(arguments...)) : Status::no_function;
}

MissingReason reason_of(Status status) {
  switch (status) {
    case Status::not_supported:
    case Status::not_implemented:
    case Status::no_function: return MissingReason::not_supported;
    case Status::permission: return MissingReason::permission;
    default: return MissingReason::io_error;
  }
}

using Count = std::expected<std::int64_t, MissingReason>;
Count counted(Status status, std::uint64_t value) {
  if (status != Status::success) return std::unexpected(reason_of(status));
  return static_cast<std::int64_t>(value);
}

std::expected<AmdEnergy, MissingReason> read_energy(const RocmSmiApi& api, std::uint32_t index) {
  std::uint64_t count = 0, nanoseconds = 0;
  float resolution = 0;
  const Status status = invoke(api.energy, index, &count, &resolution, &nanoseconds);
  if (status != Status::success) return std::unexpected(reason_of(status));
  if (!(resolution > 0)) return std::unexpected(MissingReason::rubbish);
  return AmdEnergy{count, amd_resolution(resolution)};
}

Count read_power(const RocmSmiApi& api, std::uint32_t index) {
  std::uint64_t microwatts = 0;
  std::uint32_t type = 0;
  if (invoke(api.power, index, &microwatts, &type) == Status::success) return static_cast<std::int64_t>(microwatts);
  const Status status = invoke(api.power_average, index, first_sensor, &microwatts);
  return counted(status, microwatts);
}

Count read_utilisation(const RocmSmiApi& api, std::uint32_t index) {
  std::uint32_t per_cent = 0;
  const Status status = invoke(api.busy, index, &per_cent);
  return counted(status, per_cent);
}

Count read_memory(const RocmSmiApi& api, std::uint32_t index, bool total) {
  std::uint64_t bytes = 0;
  const Status status = invoke(total ? api.memory_total : api.memory_used, index, video_memory, &bytes);
  return counted(status, bytes);
}

AmdCard card_of(const RocmSmiApi& api, std::uint32_t index) {
  AmdCard card;
  std::uint64_t bits = 0;
  if (invoke(api.address, index, &bits) == Status::success)
    card.address = pci_address(bits >> 32, bits >> 8 & 0xff, bits >> 3 & 0x1f, bits & 7);
  std::array<char, 128> name{};
  if (invoke(api.name, index, name.data(), name.size() - 1) == Status::success) card.name = name.data();
  std::uint64_t greatest = 0, least = 0;
  if (invoke(api.cap_range, index, first_sensor, &greatest, &least) == Status::success)
    card.cap = watts(static_cast<double>(greatest) * 1e-6);
  card.power_unit = 1e-6;
  card.energy = [api, index] { return read_energy(api, index); };
  card.power = [api, index] { return read_power(api, index); };
  card.utilisation = [api, index] { return read_utilisation(api, index); };
  card.memory_used = [api, index] { return read_memory(api, index, false); };
  card.memory_total = [api, index] { return read_memory(api, index, true); };
  return card;
}

}  // namespace

Discovery probe_rocm_smi(const Machine& machine) {
  if (pci_cards(machine, amd_pci).empty()) return {{}, {absent_finding(kind, "", amd_no_gpu)}};
  const RocmSmiApi api = RocmSmiApi::load();
  if (amdsmi_serves()) return {{}, {blocked_finding(kind, "", superseded)}};
  if (!api.init) return {{}, {blocked_finding(kind, "", no_library)}};
  if (const Status status = invoke(api.init, std::uint64_t{0}); status != Status::success)
    return {{},
            {blocked_finding(kind, "", status == Status::permission ? amd_no_permission : failed,
                             "status " + std::to_string(static_cast<std::uint32_t>(status)))}};
  std::uint32_t count = 0;
  invoke(api.count, &count);
  std::vector<AmdCard> cards;
  for (std::uint32_t index = 0; index < count; ++index) cards.push_back(card_of(api, index));
  Discovery discovery = amd_discovery(machine, kind, std::move(cards));
  if (discovery.findings.empty()) discovery.findings.push_back(blocked_finding(kind, "", failed, "it shows no GPU"));
  return discovery;
}

}  // namespace joulery
