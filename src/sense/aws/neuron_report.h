// One report of neuron-monitor, a line of JSON, as values. A pure function of the text: it takes anything and never throws.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

namespace joulery {

struct NeuronReport {
  int devices = 0, cores_per_device = 0;         // 0: not told
  std::int64_t device_memory = 0;                // bytes of one device; 0: not told
  std::map<int, double> utilisation;             // per cent of each core that any program uses, over the last period
  std::map<int, std::int64_t> memory;            // bytes that programs hold on each core's part of its device
  std::optional<std::int64_t> all_memory;        // bytes that programs hold on all devices together
};

// Nothing where the line is no report. Cores that no program uses are absent.
std::optional<NeuronReport> parse_neuron_report(std::string_view line);

}  // namespace joulery
