// Request logs and spans that hold anything: what is read is in order, finite and not negative; and it can be made into uses.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "ledger/serving/request_uses.h"
#include "watch/serving/otlp_spans.h"

namespace {

using namespace joulery;

void require(bool condition) {
  if (!condition) std::abort();
}

void check(const RequestLog& log) {
  require((log.bad_lines == 0) == log.first_trouble.empty());
  for (const ServedRequest& r : log.requests) {
    WallTime last = r.start;
    for (const auto& next : {r.scheduled, r.first_token, std::optional(r.end)}) {
      require(!next || *next >= last);
      last = next.value_or(last);
    }
    for (const auto& count : {r.tokens_in, r.tokens_out}) require(!count || (std::isfinite(*count) && *count >= 0));
  }
  require(uses_of(log.requests, {{0}, {0}, {1'700'000'000'000'000'000}}).size() == log.requests.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check(parse_request_log(text));
  check(parse_otlp_spans(text));
  return 0;
}
