// What the series of known exporters mean: dcgm-exporter, Kepler and node_exporter, and one metric that the user names. Pure:
// a page goes in, channels and values come out.
//
// Invariant: a component's counter is told once. Series that repeat it (the slices of a GPU in MIG mode each carry the whole
// GPU's counter) are recognised by the device that they name and never added.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/prometheus_page.h"
#include "sense/remote/meter_unit.h"

namespace joulery {

// What the user asks for.
struct ScrapeChoice {
  std::string metric;                                        // "": whatever is known
  std::vector<std::pair<std::string, std::string>> labels;   // each must be there
  Scaling scaling;                                           // of `metric`
};

// One thing that a page tells.
struct ScrapedValue {
  std::string metric;     // which series it comes from
  std::string component;  // below the section's own: "gpu/0", "cpu/package-1/core"; "" for that itself
  bool platform = false;  // overlaps the others (psys)
  Measurand measurand = Measurand::power;
  Scaling scaling;
  RemoteValue value = std::unexpected(MissingReason::gone);
};

// All that a page tells of what was asked for, in the order of the page; nothing where it tells nothing.
// Errors (as text): series that cannot be told apart, with what would.
std::expected<std::vector<ScrapedValue>, std::string> scraped_values(const PrometheusPage& page, const ScrapeChoice& choice);

// True for names that some row of the table knows.
bool is_known_metric(std::string_view name);

// DCGM writes "no value" as a number at the top of a range. Source: dcgm_fields.h, DCGM_INT64_BLANK 0x7ffffffffffffff0 and
// DCGM_FP64_BLANK 140737488355328.0, and a few above each for the reason; DCGM_INT32_BLANK 0x7ffffff0 belongs to fields of 32
// bits, of which no energy is one.
bool is_dcgm_blank(double value, bool may_be_32_bits);

}  // namespace joulery
