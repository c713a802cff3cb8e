// What the user may have meant: the known names nearest to one that is not known.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace joulery {

// Edits (insert, delete, replace, swap of neighbours; case does not count) that turn one text into the other, in bytes.
std::size_t edit_distance(std::string_view a, std::string_view b);

// Up to `most` of `names`, nearest first; none further away than a third of the name's length (at least 2 edits).
std::vector<std::string> near_names(std::string_view name, std::span<const std::string> names, std::size_t most);

// The first of near_names(), "" where there is none.
std::string nearest_name(std::string_view name, std::span<const std::string> names);

}  // namespace joulery
