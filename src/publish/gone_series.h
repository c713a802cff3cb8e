// Which series were told and are told no longer. An engine that is pushed to goes on with a series' last value for five
// minutes, and would count twice what has meanwhile moved to "(other)"; Prometheus' staleness marker ends a series at once, and
// so does a point without a recorded value in OTLP.
//
// Invariant: each series that has gone is named once, by the first call that does not have it.
#pragma once

#include <bit>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "publish/metric.h"

namespace joulery {

// Prometheus' StaleNaN (model/value of Prometheus): one NaN of many, told by its bits.
inline constexpr std::uint64_t stale_marker = 0x7ff0000000000002;

class GoneSeries {
 public:
  // Families of the series that the call before had and this one has not, with the marker as their value.
  std::vector<MetricFamily> since_last(std::span<const MetricFamily> families);

 private:
  using Labels = std::vector<std::pair<std::string, std::string>>;
  struct Told {
    MetricFamily head;  // without samples
    std::set<Labels> series;
  };
  std::map<std::string, Told> told_;  // by name of the family
};

}  // namespace joulery
