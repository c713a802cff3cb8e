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

// DCGM writes "no value" as a number at the top of a range. Source: dcgm_fields.h, DCGM_INT64_BLANK 0x7ffffffffffffff0 and
// DCGM_FP64_BLANK 140737488355328.0, and a few above each for the reason; DCGM_INT32_BLANK 0x7ffffff0 belongs to fields of 32
// bits, of which no energy is one.
bool is_dcgm_blank(double value, bool may_be_32_bits);

}  // namespace joulery
