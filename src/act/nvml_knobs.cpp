#include "act/nvml_knobs.h"

#include <fmt/format.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "sense/nvidia/nvml.h"
#include "sense/nvidia/nvml_api.h"
#include "sense/nvidia/nvml_mig.h"

namespace joulery {
namespace {

constexpr const char* kind = "nvml";
constexpr std::int64_t microwatts_per_milliwatt = 1000;
using Device = NvmlApi::Device;

// The driver asks at each call, so that who gives the right up later cannot set it later.
bool may_administer() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[2]{};
  if (::syscall(SYS_capget, &header, sets) != 0) return false;
  return (sets[CAP_SYS_ADMIN / 32].effective >> (CAP_SYS_ADMIN % 32) & 1) != 0;
}

std::optional<std::int64_t> milliwatts(int (*function)(Device, unsigned*), Device device) {
  unsigned value = 0;
  if (call(function, device, &value) != NvmlReturn::success || value == 0) return std::nullopt;
  return value * microwatts_per_milliwatt;
}

// Keeps the library open for as long as it lives: without persistence mode a driver that nobody uses forgets the limit.
class NvmlKnob final : public PowerKnob {
 public:
  NvmlKnob(NvmlLibrary library, Device device, unsigned index, KnobFacts facts, KnobFile::Access access)
      : library_(std::move(library)), device_(device), index_(index), facts_(std::move(facts)), access_(access) {}

  const KnobFacts& facts() const override { return facts_; }

  Result<KnobState> read() override {
    unsigned value = 0;
    const NvmlReturn code = call(library_.api().requested_limit, device_, &value);
    if (code != NvmlReturn::success)
      return fail(ErrorCode::io, "the driver does not tell the power limit", where(), library_.describe(code));
    return KnobState{value * microwatts_per_milliwatt, std::nullopt};
  }

  Result<void> write(const KnobState& state) override {
    const auto value = static_cast<unsigned>(state.limit_uw / microwatts_per_milliwatt);
    const NvmlReturn code = call(library_.api().set_limit, device_, value);
    switch (code) {
      case NvmlReturn::success: return {};
      case NvmlReturn::no_permission: return std::unexpected(root_alone());
      case NvmlReturn::invalid_argument:
        return fail(ErrorCode::usage, "the driver does not take this power limit", where(), "joulery power lists what it takes");
      case NvmlReturn::not_supported:
      case NvmlReturn::function_not_found:
        return fail(ErrorCode::unsupported, "this GPU does not let its power limit be set, as in laptops", where(),
                    library_.describe(code));
      default: return fail(ErrorCode::io, "the driver did not set the power limit", where(), library_.describe(code));
    }
  }

  // The driver counts milliwatts.
  KnobState limited_to(std::int64_t microwatts) const override {
    return {microwatts / microwatts_per_milliwatt * microwatts_per_milliwatt, std::nullopt};
  }

  std::optional<Error> obstacle() const override {
    if (is_partitioned(library_.api(), device_))
      return Error{ErrorCode::unsupported, "partitioned (MIG): a slice has no power limit, and the board's would hold all of its slices",
                   where(), fmt::format("sudo nvidia-smi -i {} -pl WATTS  # for the whole board, until somebody sets it again", index_)};
    if (access_ == KnobFile::Access::read) return nobody_is_named();
    if (!library_.api().set_limit)
      return Error{ErrorCode::unsupported, "this driver's library cannot set power limits", where(), "a newer driver can"};
    return may_administer() ? std::nullopt : std::optional(root_alone());
  }

  std::optional<std::int64_t> enforced_uw() override { return milliwatts(library_.api().enforced_limit, device_); }

 private:
  std::string where() const { return fmt::format("NVIDIA GPU {}", index_); }
  Error root_alone() const {
    return {ErrorCode::permission, "NVIDIA's driver lets root alone set it (CAP_SYS_ADMIN), which an agent gives up once it has started",
            where(), "sudo joulery run --power-limit ... -- CMD  # as root"};
  }

  NvmlLibrary library_;
  Device device_;
  unsigned index_;
  KnobFacts facts_;
  KnobFile::Access access_;
};

void add_gpu(unsigned index, KnobFile::Access access, PowerKnobs& knobs) {
  auto library = NvmlLibrary::open();
  if (!library) return;
  const NvmlApi& api = library->api();
  Device device = nullptr;
  if (call(api.device_by_index, index, &device) != NvmlReturn::success || !milliwatts(api.requested_limit, device)) return;
  const std::string uuid = nvml_text(api.uuid, device);
  KnobFacts facts;
  facts.id = fmt::format("{}/{}", kind, uuid.empty() ? std::to_string(index) : uuid);
  facts.kind = kind;
  facts.component = Component("node/gpu/" + std::to_string(index));
  facts.usual = true;
  unsigned least = 0, most = 0;
  if (call(api.power_limits, device, &least, &most) == NvmlReturn::success && most > 0) {
    facts.least_uw = least * microwatts_per_milliwatt;
    facts.most_uw = most * microwatts_per_milliwatt;
  }
  facts.standard_uw = milliwatts(api.standard_limit, device);
  knobs.push_back(std::make_unique<NvmlKnob>(*std::move(library), device, index, std::move(facts), access));
}

}  // namespace

void add_nvml_knobs(const Machine& machine, KnobFile::Access access, PowerKnobs& knobs) {
  if (!may_have_nvml(machine)) return;
  const auto library = NvmlLibrary::open();
  unsigned count = 0;
  if (!library || call(library->api().device_count, &count) != NvmlReturn::success) return;
  for (unsigned index = 0; index < count; ++index) add_gpu(index, access, knobs);
}

}  // namespace joulery
