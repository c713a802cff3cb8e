#include "ledger/split.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace joulery {

std::vector<Energy> split(Energy whole, std::span<const double> weights) {
  std::vector<Energy> shares(weights.size());
  if (weights.empty()) return shares;
  const long double sum = std::accumulate(weights.begin(), weights.end(), 0.0L);
  if (!(sum > 0)) {
    shares.back() = whole;
    return shares;
  }
  std::vector<std::pair<long double, std::size_t>> remainders;
  remainders.reserve(weights.size());
  std::int64_t left = whole.base_units();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) continue;
    const long double exact = static_cast<long double>(whole.base_units()) * (weights[i] / sum);
    const long double down = std::floor(exact);
    shares[i] = microjoules(static_cast<std::int64_t>(down));
    left -= shares[i].base_units();
    remainders.emplace_back(exact - down, i);
  }
  // `left` is the number of microjoules that rounding down kept back: fewer than there are shares, but for rounding
  // in the products above, which may make it -1 or a few more.
  const auto greater = [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; };
  const auto count = static_cast<std::int64_t>(remainders.size());
  std::ranges::nth_element(remainders, remainders.begin() + (left % count + count) % count, greater);
  for (std::int64_t k = 0; k < left; ++k) shares[remainders[static_cast<std::size_t>(k % count)].second] += microjoules(1);
  for (std::int64_t k = 0; k > left; --k)
    shares[remainders[static_cast<std::size_t>((count + k % count - 1) % count)].second] -= microjoules(1);
  return shares;
}

}  // namespace joulery
