// How far two words are apart, for answers to typing mistakes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace joulery {

// Least number of insertions, deletions, replacements and swaps of neighbours (optimal string alignment), in bytes.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The one of `names` nearest to `text`; "" where there are none.
std::string nearest_name(std::string_view text, const std::vector<std::string_view>& names);

}  // namespace joulery
