// The answer of the TPU runtime's metrics service, a protobuf message MetricResponse (tpu.monitoring.runtime), as values.
// A pure function of the bytes: it takes anything and never throws. Only the fields that tell a gauge or a counter of a
// device are decoded; all others are skipped as the wire format says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace joulery {

struct TpuValue {
  std::int64_t device = 0;  // the attribute "device-id"
  double value = 0;
};

// One value per device, in the message's order; nothing where the bytes are no such message.
std::optional<std::vector<TpuValue>> parse_tpu_metric(std::string_view message);

// A MetricRequest for one metric: "tpu.runtime.tensorcore.dutycycle.percent".
std::string tpu_metric_request(std::string_view metric);

}  // namespace joulery
