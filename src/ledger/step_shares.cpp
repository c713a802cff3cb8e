#include "ledger/step_shares.h"

#include <algorithm>

namespace joulery {
namespace {

struct Border {
  MonoTime at;
  bool begins = false;
  std::size_t step = 0;
};

// By time; at one time what ends goes first.
std::vector<Border> borders_of(std::span<const Step> steps) {
  std::vector<Border> borders;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].when.empty()) continue;
    borders.push_back({steps[i].when.begin, true, i});
    borders.push_back({steps[i].when.end, false, i});
  }
  std::ranges::stable_sort(borders, [](const Border& a, const Border& b) { return a.at != b.at ? a.at < b.at : a.begins < b.begins; });
  return borders;
}

// In equal parts; what cannot be divided goes to the first of them.
void split_evenly(Energy whole, const std::vector<std::size_t>& active, std::vector<Energy>& energies) {
  const auto count = static_cast<std::int64_t>(active.size());
  const std::int64_t each = whole.base_units() / count, left = whole.base_units() % count, one = left < 0 ? -1 : 1;
  for (std::size_t i = 0; i < active.size(); ++i)
    energies[active[i]] += microjoules(each + (static_cast<std::int64_t>(i) < std::abs(left) ? one : 0));
}

}  // namespace

std::vector<Energy> share_among_steps(std::span<const Step> steps, const std::function<Energy(Interval)>& energy_of) {
  std::vector<Energy> energies(steps.size());
  std::vector<std::size_t> active;
  MonoTime last{};
  for (const Border& border : borders_of(steps)) {
    if (!active.empty() && last < border.at) split_evenly(energy_of({last, border.at}), active, energies);
    last = border.at;
    if (border.begins)
      active.push_back(border.step);
    else
      std::erase(active, border.step);
  }
  return energies;
}

}  // namespace joulery
