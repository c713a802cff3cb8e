#include "sense/nvidia/nvml_meter.h"

#include <algorithm>
#include <utility>

#include "core/time.h"

namespace joulery {
namespace {

constexpr Duration look_again_after = milliseconds(2000);

bool is_burning(const Channel& channel) { return channel.measurand == Measurand::energy || channel.measurand == Measurand::power; }

void append(std::vector<Channel>& to, const std::vector<Channel>& from) { to.insert(to.end(), from.begin(), from.end()); }

NvmlReturn used_memory(const NvmlApi& api, NvmlApi::Device device, std::int64_t& bytes) {
  NvmlMemory memory{};
  const NvmlReturn code = call(api.memory_info, device, &memory);
  bytes = static_cast<std::int64_t>(memory.used);
  return code;
}

}  // namespace

NvmlMeter::NvmlMeter(NvmlLibrary library, NvmlApi::Device device, std::string uuid, const GpuFacts& facts, std::vector<MigSlice> slices)
    : library_(std::move(library)),
      device_(device),
      uuid_(std::move(uuid)),
      component_(facts.component),
      partitioned_(is_partitioned(library_.api(), device)),
      fields_(library_.api(), device, facts),
      slices_(std::move(slices)) {
  const bool counted = fields_.has("energy") || fields_.has("module_energy");
  const bool powered = fields_.has("power_average") || fields_.has("power_instant");
  if (!counted) add_calls(burning_calls().first(1), before_, facts);
  if (!powered) add_calls(burning_calls().subspan(1), before_, facts);
  append(channels_, fields_.channels());
  add_calls(plain_calls(), after_, facts);
  add_slices(facts);
}

bool NvmlMeter::burns() const { return std::ranges::any_of(channels_, is_burning); }

bool NvmlMeter::has(std::string_view channel) const {
  return std::ranges::any_of(channels_, [&](const Channel& known) { return known.name == channel; });
}

void NvmlMeter::add_calls(std::span<const NvmlCall> calls, std::vector<const NvmlCall*>& to, const GpuFacts& facts) {
  for (const NvmlCall& what : calls) {
    std::array<std::int64_t, NvmlCall::most_values> ignored{};
    if (has(what.values[0].name) || is_absent(what.read(library_.api(), device_, ignored.data()))) continue;
    to.push_back(&what);
    for (std::size_t i = 0; i < what.count(); ++i) {
      const NvmlCall::Value& value = what.values[i];
      const bool burning = value.measurand == Measurand::energy || value.measurand == Measurand::power;
      channels_.push_back(burning ? burning_channel(facts, std::string(value.name), value.measurand, PowerReading::draw)
                                  : plain_channel(facts.component, std::string(value.name), value.measurand, value.behaviour, value.unit));
    }
  }
}

// Memory and profiling belong to GPU instances: where one holds several compute instances, the first stands for it.
void NvmlMeter::add_slices(const GpuFacts& facts) {
  const NvmlApi& api = library_.api();
  std::vector<MigSlice> instances;
  for (MigSlice& slice : slices_)
    if (std::ranges::none_of(instances, [&](const MigSlice& known) { return known.gpu_instance == slice.gpu_instance; }))
      instances.push_back(std::move(slice));
  slices_ = std::move(instances);
  const auto part = [&](const MigSlice& slice) { return Component(facts.component.path() + "/mig-" + std::to_string(slice.gpu_instance)); };
  std::int64_t ignored = 0;
  std::erase_if(slices_, [&](const MigSlice& slice) {
    NvmlGpm gpm(api, device_, slice.gpu_instance, part(slice));
    if (!gpm.channels().empty()) gpm_.push_back(std::move(gpm));
    return is_absent(used_memory(api, slice.handle, ignored));
  });
  for (const MigSlice& slice : slices_)
    channels_.push_back(
        plain_channel(part(slice), "memory_mig_" + std::to_string(slice.gpu_instance), Measurand::memory, Behaviour::gauge, 1));
  if (!partitioned_) {
    NvmlGpm gpm(api, device_, std::nullopt, facts.component);
    if (!gpm.channels().empty()) gpm_.push_back(std::move(gpm));
  }
  for (const NvmlGpm& gpm : gpm_) append(channels_, gpm.channels());
}

void NvmlMeter::look_again(MonoTime now) {
  if (!lost_ || now - looked_ < look_again_after) return;
  looked_ = now;
  NvmlApi::Device device = nullptr;
  if (call(library_.api().device_by_uuid, uuid_.c_str(), &device) == NvmlReturn::success) device_ = device;
}

void NvmlMeter::read(Sink& sink) {
  const NvmlApi& api = library_.api();
  const MonoTime now = mono_now();
  look_again(now);
  lost_ = false;
  for (const NvmlCall* what : before_) note(read_call(*what, api, device_, sink));
  note(fields_.read(api, device_, sink));
  for (const NvmlCall* what : after_) note(read_call(*what, api, device_, sink));
  for (const MigSlice& slice : slices_) {
    std::int64_t bytes = 0;
    const NvmlReturn code = used_memory(api, slice.handle, bytes);
    code == NvmlReturn::success ? sink.value(bytes)
                                : sink.missing(code == NvmlReturn::invalid_argument ? MissingReason::gone : reason_of(code));
  }
  for (NvmlGpm& gpm : gpm_) gpm.read(device_, now, sink);
}

void NvmlMeter::processes(std::vector<DeviceProcess>& into) {
  if (!lost_) processes_.read(library_.api(), device_, component_, partitioned_, into);
}

}  // namespace joulery
