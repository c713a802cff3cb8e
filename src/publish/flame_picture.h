// A flame graph as a picture that needs nothing but itself: an SVG file, and an HTML page with the same picture, a search field, and the
// figures as a table. Click on a frame to zoom, on the lowest one to go back; without its script it is still a picture with titles.
//
// Invariant: nothing is loaded from anywhere. Frames narrower than half a pixel are left out of the picture, and the page says so.
#pragma once

#include <string>

#include "judge/flame.h"

namespace joulery {

std::string flame_svg(const Flame& flame);
std::string flame_html(const Flame& flame);

}  // namespace joulery
