#include "ledger/serving/request_uses.h"

#include <algorithm>

namespace joulery {
namespace {

double median(std::vector<double> values) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::ranges::nth_element(values, at);
  return *at;
}

// What is typical of these requests, for those that do not say it.
struct Typical {
  double tokens_in = 1, tokens_out_a_second = 1;
};

Typical typical_of(std::span<const ServedRequest> requests) {
  std::vector<double> prompts, rates;
  for (const ServedRequest& r : requests) {
    if (r.tokens_in) prompts.push_back(*r.tokens_in);
    const double answering = to_seconds(r.end - r.first_token.value_or(r.start));
    if (r.tokens_out && answering > 0) rates.push_back(*r.tokens_out / answering);
  }
  Typical typical;
  if (!prompts.empty()) typical.tokens_in = median(prompts);
  if (!rates.empty()) typical.tokens_out_a_second = median(rates);
  return typical;
}

ServingUse use_of(const ServedRequest& r, const Typical& typical, const ClockMap& clocks) {
  const auto mono = [&](WallTime t) { return clocks.mono + (t - clocks.wall); };
  ServingUse use;
  use.guessed = !r.tokens_in || !r.tokens_out;
  use.prefill_tokens = r.tokens_in.value_or(typical.tokens_in);
  const double answered = r.tokens_out.value_or(typical.tokens_out_a_second * to_seconds(r.end - r.first_token.value_or(r.start)));
  if (!r.first_token) {
    use.decode_tokens = answered;
    use.prefill = use.decode = {mono(r.scheduled.value_or(r.start)), mono(r.end)};
    return use;
  }
  use.queued = !r.scheduled;
  use.prefill = {mono(r.scheduled.value_or(r.start)), mono(*r.first_token)};
  use.decode = {mono(*r.first_token), mono(r.end)};
  use.decode_tokens = std::max(0.0, answered - 1);
  return use;
}

}  // namespace

std::vector<ServingUse> uses_of(std::span<const ServedRequest> requests, const ClockMap& clocks) {
  const Typical typical = typical_of(requests);
  std::vector<ServingUse> uses;
  uses.reserve(requests.size());
  for (const ServedRequest& request : requests) uses.push_back(use_of(request, typical, clocks));
  return uses;
}

}  // namespace joulery
