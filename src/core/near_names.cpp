#include "core/near_names.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace joulery {
namespace {

bool same_letter(char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b)); }

}  // namespace

// Optimal string alignment: Levenshtein's table, with one more rule for swapped neighbours.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (same_letter(a[i - 1], b[j - 1]) ? 0u : 1u)});
      if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) && same_letter(a[i - 2], b[j - 1]))
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

std::vector<std::string> near_names(std::string_view name, std::span<const std::string> names, std::size_t most) {
  const std::size_t limit = std::max<std::size_t>(2, name.size() / 3);
  std::vector<std::pair<std::size_t, std::string>> found;
  for (const std::string& known : names)
    if (const std::size_t distance = edit_distance(name, known); distance <= limit && distance < known.size())
      found.emplace_back(distance, known);
  std::ranges::stable_sort(found, {}, &std::pair<std::size_t, std::string>::first);
  std::vector<std::string> nearest;
  for (std::size_t i = 0; i < std::min(most, found.size()); ++i) nearest.push_back(std::move(found[i].second));
  return nearest;
}

std::string nearest_name(std::string_view name, std::span<const std::string> names) {
  const auto near = near_names(name, names, 1);
  return near.empty() ? std::string() : near.front();
}

}  // namespace joulery
