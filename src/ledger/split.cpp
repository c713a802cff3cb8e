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
  std::vector<std::pair<long double, std::size_t>> remainders(weights.size());
  std::int64_t left = whole.base_units();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const long double exact = static_cast<long double>(whole.base_units()) * (weights[i] / sum);
    const long double down = std::floor(exact);
    shares[i] = microjoules(static_cast<std::int64_t>(down));
    left -= shares[i].base_units();
    remainders[i] = {exact - down, i};
  }
  // `left` is the number of microjoules that rounding down kept back: fewer than there are shares, but for rounding
  // in the products above, which may make it -1.
  std::ranges::sort(remainders, [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  for (std::size_t k = 0; left != 0; ++k) {
    const std::int64_t step = left > 0 ? 1 : -1;
    const std::size_t at =
        left > 0 ? remainders[k % remainders.size()].second : remainders[remainders.size() - 1 - k % remainders.size()].second;
    shares[at] += microjoules(step);
    left -= step;
  }
  return shares;
}

}  // namespace joulery
