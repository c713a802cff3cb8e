#include "sense/nvidia/nvml_fields.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

namespace joulery {
namespace {

constexpr unsigned field_energy = 83, field_power_average = 185, field_power_instant = 186, field_energy_scoped = 191;
constexpr unsigned scope_gpu = 0, scope_module = 1, scope_memory = 2;
constexpr double milli = 1e-3, nano = 1e-9;

enum class Place : std::uint8_t { gpu, memory, module };

struct Item {
  std::string_view name;
  unsigned field, scope;
  Place place;
  Measurand measurand;
  Behaviour behaviour;
  double unit;
  PowerReading reading = PowerReading::average;
};

// In the order of preference; of rows with the same name the first that answers counts. Energy is put in by hand: see energy_of.
constexpr Item items[] = {
    {"power_average", field_power_average, scope_gpu, Place::gpu, Measurand::power, Behaviour::gauge, milli},
    {"power_instant", field_power_instant, scope_gpu, Place::gpu, Measurand::power, Behaviour::gauge, milli, PowerReading::instant},
    {"memory_power", field_power_average, scope_memory, Place::memory, Measurand::power, Behaviour::gauge, milli},
    {"memory_power", field_power_instant, scope_memory, Place::memory, Measurand::power, Behaviour::gauge, milli, PowerReading::instant},
    {"module_power_average", field_power_average, scope_module, Place::module, Measurand::power, Behaviour::gauge, milli},
    {"module_power_instant", field_power_instant, scope_module, Place::module, Measurand::power, Behaviour::gauge, milli,
     PowerReading::instant},
    {"limit", 190, scope_gpu, Place::gpu, Measurand::power_limit, Behaviour::gauge, milli},
    {"limit_requested", 192, scope_gpu, Place::gpu, Measurand::power_limit, Behaviour::gauge, milli},
    {"limit_default", 189, scope_gpu, Place::gpu, Measurand::power_limit, Behaviour::constant, milli},
    {"limit_least", 187, scope_gpu, Place::gpu, Measurand::power_limit, Behaviour::constant, milli},
    {"limit_greatest", 188, scope_gpu, Place::gpu, Measurand::power_limit, Behaviour::constant, milli},
    {"module_limit", 190, scope_module, Place::module, Measurand::power_limit, Behaviour::gauge, milli},
    {"held_by_power_cap", 74, scope_gpu, Place::gpu, Measurand::duration, Behaviour::counter, nano},
    {"held_by_sync_boost", 76, scope_gpu, Place::gpu, Measurand::duration, Behaviour::counter, nano},
    {"held_by_software_heat", 269, scope_gpu, Place::gpu, Measurand::duration, Behaviour::counter, nano},
    {"held_by_hardware_heat", 270, scope_gpu, Place::gpu, Measurand::duration, Behaviour::counter, nano},
    {"held_by_power_brake", 271, scope_gpu, Place::gpu, Measurand::duration, Behaviour::counter, nano},
    {"pcie_sent", 197, scope_gpu, Place::gpu, Measurand::traffic, Behaviour::counter, 1},
    {"pcie_received", 198, scope_gpu, Place::gpu, Measurand::traffic, Behaviour::counter, 1},
    {"nvlink_sent", 138, nvml_all_links, Place::gpu, Measurand::traffic, Behaviour::counter, 1024},
    {"nvlink_sent", 202, nvml_all_links, Place::gpu, Measurand::traffic, Behaviour::counter, 1},
    {"nvlink_received", 139, nvml_all_links, Place::gpu, Measurand::traffic, Behaviour::counter, 1024},
    {"nvlink_received", 204, nvml_all_links, Place::gpu, Measurand::traffic, Behaviour::counter, 1},
};

// Nothing that is plugged in burns exactly nothing, and no limit is nothing: some drivers say 0 W for "not supported".
bool zero_is_nothing(Measurand measurand) { return measurand == Measurand::power || measurand == Measurand::power_limit; }

NvmlFieldValue ask(unsigned field, unsigned scope) {
  NvmlFieldValue value{};
  value.id = field;
  value.scope = scope;
  value.code = static_cast<int>(NvmlReturn::unknown);
  return value;
}

// The union by its type. Every field that we ask for is a whole number; nullopt where it is none, or does not fit.
std::optional<std::int64_t> whole(const NvmlFieldValue& field) {
  constexpr auto most = static_cast<double>(std::numeric_limits<std::int64_t>::max());
  switch (field.type) {
    case 0:
      return std::isfinite(field.value.real) && std::abs(field.value.real) < most ? std::optional(to_whole(field.value.real))
                                                                                  : std::nullopt;
    case 1: return field.value.number;
    case 2: return static_cast<std::int64_t>(field.value.word);
    case 3: return static_cast<std::int64_t>(field.value.wide);
    case 4: return field.value.signed_wide;
    case 5: return field.value.signed_number;
    case 6: return field.value.small;
    default: return std::nullopt;
  }
}

bool answers(const NvmlFieldValue& field, bool zero_is_nothing) {
  const auto code = static_cast<NvmlReturn>(field.code);
  if (code != NvmlReturn::success) return !is_absent(code);
  const auto value = whole(field);
  return value && (*value != 0 || !zero_is_nothing);
}

Channel channel_of(const Item& item, const GpuFacts& facts) {
  const Component part = item.place == Place::memory   ? Component(facts.component.path() + "/memory")
                         : item.place == Place::module ? facts.module
                                                       : facts.component;
  Channel channel = item.measurand == Measurand::power
                        ? burning_channel(facts, std::string(item.name), item.measurand, item.reading)
                        : plain_channel(part, std::string(item.name), item.measurand, item.behaviour, item.unit);
  channel.component = part;
  if (item.place != Place::module) return channel;
  channel.scope = Scope::platform;
  channel.max_power = Power();
  return channel;
}

struct EnergyChoice {
  unsigned field, scope;
  Place place;
};

// Which counters count what. Fields 83 and 191 are the same counter, and the second may be asked for by scope. On a module the
// plain counter is the module's, unless the scopes tell two different counters.
std::vector<EnergyChoice> energy_of(const NvmlFieldValue& plain, const NvmlFieldValue& gpu, const NvmlFieldValue& module, bool is_module) {
  const bool plain_there = answers(plain, false), gpu_there = answers(gpu, false), module_there = answers(module, false);
  if (!is_module) {
    if (plain_there) return {{field_energy, scope_gpu, Place::gpu}};
    if (gpu_there) return {{field_energy_scoped, scope_gpu, Place::gpu}};
    return {};
  }
  const auto gpu_count = whole(gpu), module_count = whole(module);
  if (gpu_there && module_there && gpu_count && module_count && *gpu_count != *module_count)
    return {{field_energy_scoped, scope_gpu, Place::gpu}, {field_energy_scoped, scope_module, Place::module}};
  if (module_there) return {{field_energy_scoped, scope_module, Place::module}};
  if (plain_there) return {{field_energy, scope_gpu, Place::module}};
  if (gpu_there) return {{field_energy_scoped, scope_gpu, Place::module}};
  return {};
}

// Where the instant sees all of the time it is the better power to integrate, being the younger; where it sees a part only, the
// average comes first.
bool instant_sees_all(const GpuFacts& facts) {
  const PowerSensor instant = power_sensor(facts.generation, PowerReading::instant);
  return instant.window >= instant.update;
}

// All at once; where a driver refuses the whole for one field that it does not know, each by itself.
void ask_all(const NvmlApi& api, NvmlApi::Device device, std::vector<NvmlFieldValue>& fields) {
  const NvmlReturn whole_call = call(api.field_values, device, static_cast<int>(fields.size()), fields.data());
  if (whole_call == NvmlReturn::success) return;
  for (NvmlFieldValue& field : fields) {
    const NvmlReturn alone =
        whole_call == NvmlReturn::invalid_argument ? call(api.field_values, device, 1, &field) : NvmlReturn::not_supported;
    if (alone != NvmlReturn::success) field.code = static_cast<int>(NvmlReturn::not_supported);
  }
}

}  // namespace

MissingReason reason_of(NvmlReturn code) {
  switch (code) {
    case NvmlReturn::not_supported:
    case NvmlReturn::function_not_found:
    case NvmlReturn::deprecated: return MissingReason::not_supported;
    case NvmlReturn::no_permission:
    case NvmlReturn::operating_system: return MissingReason::permission;
    case NvmlReturn::timeout: return MissingReason::timed_out;
    case NvmlReturn::uninitialized:
    case NvmlReturn::driver_not_loaded:
    case NvmlReturn::gpu_is_lost:
    case NvmlReturn::reset_required:
    case NvmlReturn::gpu_not_found: return MissingReason::device_lost;
    case NvmlReturn::not_found:
    case NvmlReturn::no_data:
    case NvmlReturn::not_ready: return MissingReason::gone;
    default: return MissingReason::io_error;
  }
}

bool is_absent(NvmlReturn code) {
  return code == NvmlReturn::not_supported || code == NvmlReturn::function_not_found || code == NvmlReturn::deprecated ||
         code == NvmlReturn::invalid_argument;
}

bool is_lost(NvmlReturn code) { return reason_of(code) == MissingReason::device_lost; }

Channel plain_channel(Component component, std::string name, Measurand measurand, Behaviour behaviour, double unit) {
  Channel channel;
  channel.component = std::move(component);
  channel.name = std::move(name);
  channel.measurand = measurand;
  channel.behaviour = behaviour;
  channel.unit = unit;
  return channel;
}

Channel burning_channel(const GpuFacts& facts, std::string name, Measurand measurand, PowerReading reading) {
  const bool counts = measurand == Measurand::energy;
  Channel channel = plain_channel(facts.component, std::move(name), measurand, counts ? Behaviour::counter : Behaviour::gauge, milli);
  const PowerSensor sensor = power_sensor(facts.generation, reading);
  channel.update_period = sensor.update;
  channel.averaging_window = counts ? Duration() : sensor.window;
  channel.accuracy = {uncalibrated_relative, watts(uncalibrated_watts)};
  channel.max_power = facts.max_power;
  channel.always_burns = counts;
  return channel;
}

NvmlFields::NvmlFields(const NvmlApi& api, NvmlApi::Device device, const GpuFacts& facts) {
  std::vector<NvmlFieldValue> all{ask(field_energy, scope_gpu), ask(field_energy_scoped, scope_gpu),
                                  ask(field_energy_scoped, scope_module)};
  for (const Item& item : items) all.push_back(ask(item.field, item.scope));
  ask_all(api, device, all);
  const auto answered = [&](std::size_t i) { return answers(all[3 + i], zero_is_nothing(items[i].measurand)); };
  for (std::size_t i = 0; i < std::size(items); ++i)
    module_ = module_ || (items[i].place == Place::module && items[i].measurand == Measurand::power && answered(i) && all[3 + i].code == 0);
  const auto keep = [&](const NvmlFieldValue& field, Channel channel, bool zero) {
    asked_.push_back(ask(field.id, field.scope));
    channels_.push_back(std::move(channel));
    zero_is_nothing_.push_back(zero);
  };
  for (const EnergyChoice& choice : energy_of(all[0], all[1], all[2], module_)) {
    Channel channel =
        burning_channel(facts, choice.place == Place::module ? "module_energy" : "energy", Measurand::energy, PowerReading::draw);
    if (choice.place == Place::module) channel.component = facts.module, channel.scope = Scope::platform, channel.max_power = Power();
    keep(ask(choice.field, choice.scope), std::move(channel), false);
  }
  std::array<std::size_t, std::size(items)> order{};
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  if (instant_sees_all(facts)) std::swap(order[0], order[1]);
  for (const std::size_t i : order) {
    const Item& item = items[i];
    if (!answered(i) || has(item.name) || (item.place == Place::module && !module_)) continue;
    keep(all[3 + i], channel_of(item, facts), zero_is_nothing(item.measurand));
  }
}

bool NvmlFields::has(std::string_view channel) const {
  return std::ranges::any_of(channels_, [&](const Channel& c) { return c.name == channel; });
}

NvmlReturn NvmlFields::read(const NvmlApi& api, NvmlApi::Device device, Sink& sink) {
  if (asked_.empty()) return NvmlReturn::success;
  for (NvmlFieldValue& field : asked_) field.code = static_cast<int>(NvmlReturn::unknown);
  const NvmlReturn whole_call = call(api.field_values, device, static_cast<int>(asked_.size()), asked_.data());
  NvmlReturn worst = whole_call;
  for (std::size_t i = 0; i < asked_.size(); ++i) {
    const auto code = whole_call == NvmlReturn::success ? static_cast<NvmlReturn>(asked_[i].code) : whole_call;
    if (is_lost(code)) worst = code;
    const auto value = code == NvmlReturn::success ? whole(asked_[i]) : std::nullopt;
    if (code != NvmlReturn::success)
      sink.missing(reason_of(code));
    else if (!value)
      sink.missing(MissingReason::rubbish);
    else if (*value == 0 && zero_is_nothing_[i])
      sink.missing(MissingReason::not_supported);
    else
      sink.value(*value);
  }
  return worst;
}

}  // namespace joulery
