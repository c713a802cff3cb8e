// Prometheus remote write, version 1: metrics as a prometheus.WriteRequest (prompb/remote.proto and types.proto of Prometheus:
// timeseries = 1 {labels = 1 {name = 1, value = 2}, samples = 2 {value = 1, timestamp = 2}}), not yet compressed.
//
// Invariant: the labels of each series are sorted by name, which receivers may rely on; they are valid UTF-8, and none is empty.
// Requests joined end to end are one request.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "core/time.h"
#include "publish/metric.h"

namespace joulery {

using ExternalLabels = std::map<std::string, std::string>;  // "instance" -> "node-17"

struct RemoteWriteBytes {
  std::string bytes;
  std::size_t samples = 0;
};

// Every sample at `now`, in whole milliseconds. `external` labels are added to each series; where a sample has a label of that
// name, the sample's stays.
RemoteWriteBytes remote_write_request(std::span<const MetricFamily> families, const ExternalLabels& external, WallTime now);

// What Prometheus takes as the name of a label of ours: [a-zA-Z_][a-zA-Z0-9_]*, no two underscores at its front.
bool is_label_name(std::string_view name);

}  // namespace joulery
