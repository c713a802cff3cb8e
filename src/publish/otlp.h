// OpenTelemetry's protocol, OTLP/HTTP in protobuf: a node's figures as an ExportMetricsServiceRequest
// (opentelemetry-proto: metrics/v1/metrics.proto, common/v1, resource/v1).
//
// The hardware has the names of OpenTelemetry's semantic conventions: hw.energy and hw.power by part (hw.id, hw.type), and
// hw.host.energy and hw.host.power for the whole node, which the conventions keep apart so that nobody adds a whole to its
// parts. Only parts that count once are in hw.energy; what overlaps them is in joulery.component.overlap.energy. All metrics of
// publish/node_metrics follow as joulery.*: joulery_consumer_joules_total is joulery.consumer.energy in J.
//
// Invariant: energies are cumulative monotonic sums since `start`; what is not known is not there. A series that has gone
// (publish/gone_series) has a point that says so: without it a receiver goes on with the value before. Requests joined end to end
// are one request.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/time.h"
#include "ledger/node_account.h"
#include "publish/metric.h"

namespace joulery {

// What the figures are about: attributes of the resource, beside service.name = "joulery".
struct OtlpResource {
  std::string host_name, host_id;            // host_id "" where it is not known
  std::string version;                       // of the program
  std::map<std::string, std::string> more;   // "deployment.environment" -> "test"
};

struct OtlpBytes {
  std::string bytes;
  std::size_t points = 0;
};

// hw.energy, hw.power, hw.host.energy and hw.host.power of a node.
std::vector<MetricFamily> hardware_families(const NodeAccount& account, const std::string& host);

// `start`: the wall clock when the account began, always the same for one account (the clock may step later).
OtlpBytes otlp_request(std::span<const MetricFamily> families, const OtlpResource& resource, WallTime start, WallTime now);

// hw.type of a component that counts in hw.energy: "cpu", "memory", "gpu", else the name of its family ("board", "rest");
// "" of the node and the wall themselves.
std::string_view hardware_type(std::string_view component);

// "joulery.consumer.energy" of "joulery_consumer_joules_total" (joules), "hw.energy" of itself; and the unit, in UCUM: "J".
std::string otlp_name(const MetricFamily& family);
std::string_view otlp_unit(std::string_view unit);

}  // namespace joulery
