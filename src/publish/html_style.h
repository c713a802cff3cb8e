// The style sheet and the script of the HTML report, as text to be put inline: the page asks nothing of any server.
#pragma once

#include <string_view>

namespace joulery {

std::string_view html_style();
std::string_view html_script();  // hover over the picture; without it the page loses nothing but that

}  // namespace joulery
