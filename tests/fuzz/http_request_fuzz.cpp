// Requests of anyone who can reach the agent: parsed, and asked of the history. What is taken must keep the parser's promises.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "app/agent/access.h"
#include "app/agent/api_consumers.h"
#include "app/agent/api_query.h"
#include "app/agent/http_message.h"
#include "publish/prometheus_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace joulery;
  const auto parsed = parse_request({reinterpret_cast<const char*>(data), size});
  if (!parsed || parsed->status != 0) return 0;
  const HttpRequest& request = parsed->request;
  const auto clean = [](const auto& list) {
    return std::ranges::all_of(list, [](const auto& one) {
      return std::ranges::none_of(one.second, [](char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f; });
    });
  };
  if (parsed->bytes > size || parsed->bytes > most_head_bytes || !clean(request.headers) || !clean(request.parameters)) std::abort();
  if (const std::string* host = request.header("host")) is_loopback_host(*host);
  if (const std::string* accept = request.header("accept")) scrape_format(*accept);
  (void)consumer_choice(request, {});
  const WallTime now{1'800'000'000'000'000'000};
  if (const auto query = history_query(request, now)) {
    if (query->from >= query->to || query->step < milliseconds(1000) ||
        (query->to - query->from).base_units() / query->step.base_units() > 11'000)
      std::abort();
  }
  return 0;
}
