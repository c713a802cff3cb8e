// Figures as monitoring systems take them: families of labelled samples. One list makes them (publish/node_metrics), and
// every wire format writes them: Prometheus text, OpenMetrics, remote write, OTLP.
//
// A figure that is not known is not in the list: none of those formats can say why, and a number would be a lie.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/quantity.h"

namespace joulery {

enum class MetricType : std::uint8_t { counter, gauge };

// A number as text formats print it: either exact, a whole count of 10^-decimals (12345678 with 6 is 12.345678), or a double.
// Energies and times are exact, so that printed parts sum to the printed whole.
class MetricValue {
 public:
  constexpr MetricValue() = default;
  static constexpr MetricValue whole(std::int64_t count) { return exact(count, 0); }
  static constexpr MetricValue exact(std::int64_t count, int decimals) {  // decimals 0 to 18
    MetricValue value;
    value.count_ = count;
    value.decimals_ = decimals;
    return value;
  }
  static constexpr MetricValue real(double number) {
    MetricValue value;
    value.decimals_ = -1;
    value.real_ = number;
    return value;
  }
  static constexpr MetricValue of(Energy energy) { return exact(energy.base_units(), 6); }        // joules
  static constexpr MetricValue of(Duration duration) { return exact(duration.base_units(), 9); }  // seconds
  static constexpr MetricValue of(Power power) { return real(to_watts(power)); }                  // watts

  constexpr bool is_exact() const { return decimals_ >= 0; }
  constexpr std::int64_t count() const { return count_; }  // of an exact one
  constexpr int decimals() const { return decimals_; }     // of an exact one
  double as_double() const;                                // the nearest double
  std::string text() const;  // "12.345678" with all its decimals, else the shortest decimal that reads back; "NaN", "+Inf", "-Inf"

  friend constexpr bool operator==(const MetricValue&, const MetricValue&) = default;

 private:
  std::int64_t count_ = 0;
  double real_ = 0;
  int decimals_ = 0;  // -1: real_ holds the number
};

struct MetricSample {
  std::vector<std::pair<std::string, std::string>> labels;  // sorted by name
  MetricValue value;
};

struct MetricFamily {
  std::string name;    // "joulery_component_joules_total"
  MetricType type = MetricType::gauge;
  std::string unit;    // "joules", "watts", "ratio", "seconds", "bytes"; "" where it has none
  std::string help;
  std::vector<MetricSample> samples;
};

}  // namespace joulery
