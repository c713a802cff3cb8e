// The text that Prometheus scrapes: one sample a line, `name{label="value",...} number [timestamp]`, and comments.
//
// Lines that are none of these are left out and counted, for one odd line of a big page must not cost the others.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace joulery {

struct PrometheusSample {
  std::string name;  // letters, digits, '_' and ':'
  std::vector<std::pair<std::string, std::string>> labels;
  double value = 0;  // may be NaN or infinite, as the format allows
  // "" where the sample has no such label.
  std::string_view label(std::string_view wanted) const;
};

struct PrometheusPage {
  std::vector<PrometheusSample> samples;
  std::size_t bad_lines = 0;
};

// Keeps only samples whose name `wanted` accepts, for pages are long and few lines matter; all where it is null.
PrometheusPage parse_prometheus_text(std::string_view text, bool (*wanted)(std::string_view name) = nullptr);

}  // namespace joulery
