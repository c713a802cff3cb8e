// A scraped page that holds anything: samples with names, values only where they fit 64 bits, no component twice a metric.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string_view>

#include "sense/scrape/exporters.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace joulery;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const PrometheusPage page = parse_prometheus_text(text);
  for (const PrometheusSample& sample : page.samples) require(!sample.name.empty());
  const auto values = scraped_values(page, {});
  if (!values) {
    require(!values.error().empty());
    return 0;
  }
  std::set<std::pair<std::string, std::string>> seen;
  for (const ScrapedValue& value : *values) require(seen.emplace(value.metric, value.component).second);
  return 0;
}
