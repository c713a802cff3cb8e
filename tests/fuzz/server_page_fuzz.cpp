// A model server's page that holds anything, and the one after it: counts are finite and not negative, and what is missing has a reason.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "watch/serving/count_follower.h"

namespace {

using namespace joulery;

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  CountFollower follower;
  std::int64_t at = 0;
  for (const std::string_view part : {text.substr(0, size / 2), text, text.substr(size / 2)}) {
    const auto page = read_server_page(parse_prometheus_text(part), nullptr);
    if (!page) {
      require(!page.error().empty());
      continue;
    }
    for (const auto& [model, counts] : page->models) {
      for (const auto& count : {counts.tokens_in, counts.tokens_out, counts.requests}) require(!count || *count >= 0);
      if (counts.tokens_in) require(page->no_tokens_in.empty());
      if (counts.requests) require(page->no_requests.empty());
    }
    const auto window = follower.take({++at}, *page);
    if (!window) continue;
    for (const auto& [model, done] : window->models)
      for (const auto& count : {done.tokens_in, done.tokens_out, done.requests}) require(!count || *count >= 0);
  }
  return 0;
}
