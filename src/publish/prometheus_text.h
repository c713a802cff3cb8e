// Families of metrics as text for scrapers: Prometheus text format 0.0.4 and OpenMetrics 1.0.0.
//
// Invariant: whatever a label value holds, it ends where its quote does: backslash, quote and line end are escaped, and
// bytes that are no UTF-8 become visible text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "publish/metric.h"

namespace joulery {

enum class ScrapeFormat : std::uint8_t { prometheus, openmetrics };

// What a scraper asked for in its Accept header (RFC 9110, 12.5.1): OpenMetrics only where it names a version of it that we
// write, at least as gladly as plain text; else Prometheus text, also for a header that makes no sense.
ScrapeFormat scrape_format(std::string_view accept);

// "text/plain; version=0.0.4; charset=utf-8".
std::string_view content_type(ScrapeFormat format);

std::string scrape_text(const std::vector<MetricFamily>& families, ScrapeFormat format);

}  // namespace joulery
