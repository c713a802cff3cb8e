#include "sense/aws/neuron_report.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "sense/parse_number.h"

namespace joulery {
namespace {

using nlohmann::json;

// Steps down by name; null where a step is missing.
const json* at(const json* from, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (!from || !from->is_object()) return nullptr;
    const auto found = from->find(name);
    from = found == from->end() ? nullptr : &*found;
  }
  return from;
}

std::int64_t whole(const json* value, std::int64_t otherwise, std::int64_t most) {
  if (!value || !value->is_number_integer()) return otherwise;
  const bool unsigned_too_big = value->is_number_unsigned() && value->get<std::uint64_t>() > static_cast<std::uint64_t>(most);
  const auto number = unsigned_too_big ? -1 : value->get<std::int64_t>();
  return number < 0 || number > most ? otherwise : number;
}

constexpr std::int64_t most_bytes = std::int64_t{1} << 50, most_cores = 1 << 16;

// Calls `take` with the number of each core in an object keyed by core.
template <class Take>
void each_core(const json* cores, Take take) {
  if (!cores || !cores->is_object()) return;
  for (const auto& [name, value] : cores->items()) {
    const auto core = parse_whole<int>(name);
    if (core && *core >= 0 && *core < most_cores) take(*core, value);
  }
}

void add_runtime(const json& runtime, NeuronReport& report) {
  each_core(at(&runtime, {"report", "neuroncore_counters", "neuroncores_in_use"}), [&](int core, const json& counters) {
    const json* share = at(&counters, {"neuroncore_utilization"});
    if (!share || !share->is_number()) return;
    const double per_cent = share->get<double>();
    if (per_cent >= 0 && per_cent <= 1e3) report.utilisation[core] += per_cent;
  });
  const json* used = at(&runtime, {"report", "memory_used", "neuron_runtime_used_bytes"});
  if (const json* device = at(used, {"neuron_device"}); device && device->is_number_integer())
    report.all_memory = report.all_memory.value_or(0) + whole(device, 0, most_bytes);
  each_core(at(used, {"usage_breakdown", "neuroncore_memory_usage"}), [&](int core, const json& parts) {
    if (!parts.is_object()) return;
    for (const json& part : parts) report.memory[core] += whole(&part, 0, most_bytes);
  });
}

}  // namespace

std::optional<NeuronReport> parse_neuron_report(std::string_view line) {
  const json document = json::parse(line, nullptr, false);
  const json* hardware = at(&document, {"neuron_hardware_info"});
  const json* runtimes = at(&document, {"neuron_runtime_data"});
  if (!hardware && !runtimes) return std::nullopt;
  NeuronReport report;
  report.devices = static_cast<int>(whole(at(hardware, {"neuron_device_count"}), 0, most_cores));
  report.cores_per_device = static_cast<int>(whole(at(hardware, {"neuroncore_per_device_count"}), 0, most_cores));
  report.device_memory = whole(at(hardware, {"neuron_device_memory_size"}), 0, most_bytes);
  if (runtimes && runtimes->is_array())
    for (const json& runtime : *runtimes) add_runtime(runtime, report);
  return report;
}

}  // namespace joulery
