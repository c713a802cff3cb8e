// What programs on accelerators say of themselves: the TPU runtime's protobuf and neuron-monitor's JSON. Any bytes are either
// understood or refused, and what is understood keeps its invariants.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sense/aws/neuron_report.h"
#include "sense/google/tpu_metric.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace joulery;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto values = parse_tpu_metric(text))
    for (const TpuValue& value : *values) require(std::isfinite(value.value));
  if (const auto report = parse_neuron_report(text)) {
    require(report->devices >= 0 && report->cores_per_device >= 0 && report->device_memory >= 0);
    for (const auto& [core, per_cent] : report->utilisation) require(core >= 0 && per_cent >= 0);
    for (const auto& [core, bytes] : report->memory) require(core >= 0 && bytes >= 0);
  }
  return 0;
}
