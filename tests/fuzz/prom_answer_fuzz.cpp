// Any bytes as an engine's answer: read or refused, never a crash, and no sample that is not finite.
#include <cmath>
#include <cstdlib>

#include "app/promql.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto series = joulery::parse_prom_answer({reinterpret_cast<const char*>(data), size});
  if (!series) return series.error().what.empty() ? std::abort(), 0 : 0;
  for (const auto& one : *series) {
    if (one.samples.empty()) std::abort();
    for (const auto& sample : one.samples)
      if (!std::isfinite(sample.value)) std::abort();
    if (joulery::rise_of(std::nullopt, one.samples) == INT64_MIN) std::abort();
  }
  return 0;
}
