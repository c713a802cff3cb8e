#include "factors/near_names.h"

#include <algorithm>
#include <array>

namespace joulery {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::array<std::vector<std::size_t>, 3> rows;  // the last two rows of the table and the one being filled
  for (auto& row : rows) row.resize(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) rows[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    auto& now = rows[i % 3];
    const auto& last = rows[(i + 2) % 3];
    const auto& before = rows[(i + 1) % 3];
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) now[j] = std::min(now[j], before[j - 2] + 1);
    }
  }
  return rows[a.size() % 3][b.size()];
}

std::string nearest_name(std::string_view text, const std::vector<std::string_view>& names) {
  const auto nearest = std::ranges::min_element(names, {}, [&](std::string_view name) { return edit_distance(text, name); });
  return nearest == names.end() ? "" : std::string(*nearest);
}

}  // namespace joulery
