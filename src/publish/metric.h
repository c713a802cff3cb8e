// Figures as monitoring systems take them: families of labelled samples. One list makes them (publish/node_metrics), and
// every wire format writes them: Prometheus text, OpenMetrics, remote write, OTLP.
//
// A figure that is not known is not in the list: none of those formats can say why, and a number would be a lie.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace joulery {

enum class MetricType : std::uint8_t { counter, gauge };

struct MetricSample {
  std::vector<std::pair<std::string, std::string>> labels;  // sorted by name
  double value = 0;
};

struct MetricFamily {
  std::string name;    // "joulery_component_joules_total"
  MetricType type = MetricType::gauge;
  std::string unit;    // "joules", "watts", "ratio", "seconds", "bytes"; "" where it has none
  std::string help;
  std::vector<MetricSample> samples;
};

}  // namespace joulery
