// The picture of power over time as HTML with inline SVG, and the table under it with the same numbers.
// Invariant: shapes stretch with the page, labels do not; no colour stands alone for a meaning (estimates are hatched,
// gaps are empty columns with a mark below).
#pragma once

#include <string>
#include <string_view>

#include "publish/chart_picture.h"

namespace joulery {

// A <figure>, or a sentence where there is nothing to show.
std::string power_figure(const Picture& picture);

// The class that colours a component by its kind and place among its kind: "gpu s0", "cpu s1", "rest s0".
// `index` counts from 0 among those of the same kind.
std::string_view kind_of(std::string_view path);

}  // namespace joulery
