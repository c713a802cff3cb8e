#include "sense/nvidia/nvml_calls.h"

namespace joulery {
namespace {

using Device = NvmlApi::Device;

template <class Unsigned>
std::int64_t count(Unsigned value) {
  return static_cast<std::int64_t>(value);
}

NvmlReturn read_energy(const NvmlApi& api, Device device, std::int64_t* values) {
  unsigned long long millijoules = 0;
  const NvmlReturn code = call(api.total_energy, device, &millijoules);
  values[0] = count(millijoules);
  return code;
}

NvmlReturn read_power(const NvmlApi& api, Device device, std::int64_t* values) {
  unsigned milliwatts = 0;
  const NvmlReturn code = call(api.power_usage, device, &milliwatts);
  values[0] = milliwatts;
  return code;
}

NvmlReturn read_utilisation(const NvmlApi& api, Device device, std::int64_t* values) {
  NvmlUtilization per_cent{};
  const NvmlReturn code = call(api.utilization, device, &per_cent);
  values[0] = per_cent.gpu;
  values[1] = per_cent.memory;
  return code;
}

// What programs use apart from what the driver reserves.
NvmlReturn read_memory(const NvmlApi& api, Device device, std::int64_t* values) {
  NvmlMemoryV2 memory{};
  memory.version = nvml_memory_version;
  const NvmlReturn code = call(api.memory_info_v2, device, &memory);
  values[0] = count(memory.used);
  values[1] = count(memory.reserved);
  values[2] = count(memory.total);
  return code;
}

NvmlReturn read_old_memory(const NvmlApi& api, Device device, std::int64_t* values) {
  NvmlMemory memory{};
  const NvmlReturn code = call(api.memory_info, device, &memory);
  values[0] = count(memory.used);
  values[1] = count(memory.total);
  return code;
}

template <int domain>
NvmlReturn read_clock(const NvmlApi& api, Device device, std::int64_t* values) {
  unsigned megahertz = 0;
  const NvmlReturn code = call(api.clock_info, device, domain, &megahertz);
  values[0] = megahertz;
  return code;
}

NvmlReturn read_reasons(const NvmlApi& api, Device device, std::int64_t* values) {
  unsigned long long bits = 0;
  const NvmlReturn code = call(api.clock_event_reasons, device, &bits);
  values[0] = count(bits);
  return code;
}

NvmlReturn read_limit(const NvmlApi& api, Device device, std::int64_t* values) {
  unsigned milliwatts = 0;
  const NvmlReturn code = call(api.enforced_limit, device, &milliwatts);
  values[0] = milliwatts;
  return code;
}

constexpr NvmlCall burning[] = {
    {{{{"energy", Measurand::energy, Behaviour::counter, 1e-3}}}, read_energy},
    {{{{"power", Measurand::power, Behaviour::gauge, 1e-3}}}, read_power},
};

constexpr double mega = 1e6, per_cent = 1e-2;
constexpr NvmlCall plain[] = {
    {{{{"limit", Measurand::power_limit, Behaviour::gauge, 1e-3}}}, read_limit},
    {{{{"utilisation", Measurand::utilisation, Behaviour::gauge, per_cent},
       {"memory_utilisation", Measurand::utilisation, Behaviour::gauge, per_cent}}},
     read_utilisation},
    {{{{"memory", Measurand::memory, Behaviour::gauge, 1},
       {"memory_reserved", Measurand::memory, Behaviour::gauge, 1},
       {"memory_total", Measurand::memory, Behaviour::constant, 1}}},
     read_memory},
    {{{{"memory", Measurand::memory, Behaviour::gauge, 1}, {"memory_total", Measurand::memory, Behaviour::constant, 1}}}, read_old_memory},
    {{{{"sm_clock", Measurand::frequency, Behaviour::gauge, mega}}}, read_clock<1>},
    {{{{"memory_clock", Measurand::frequency, Behaviour::gauge, mega}}}, read_clock<2>},
    // Bits: 1 idle, 2 set clocks, 4 power cap, 8 hardware slow-down, 0x10 sync boost, 0x20 software and 0x40 hardware heat, 0x80 power
    // brake, 0x100 display.
    {{{{"throttle", Measurand::events, Behaviour::label, 1}}}, read_reasons},
};

}  // namespace

std::size_t NvmlCall::count() const {
  std::size_t n = 0;
  while (n < most_values && !values[n].name.empty()) ++n;
  return n;
}

std::span<const NvmlCall> burning_calls() { return burning; }
std::span<const NvmlCall> plain_calls() { return plain; }

NvmlReturn read_call(const NvmlCall& what, const NvmlApi& api, NvmlApi::Device device, Sink& sink) {
  std::array<std::int64_t, NvmlCall::most_values> values{};
  const NvmlReturn code = what.read(api, device, values.data());
  for (std::size_t i = 0; i < what.count(); ++i) {
    if (code == NvmlReturn::success)
      sink.value(values[i]);
    else
      sink.missing(reason_of(code));
  }
  return code;
}

}  // namespace joulery
