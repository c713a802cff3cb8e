// Text for HTML. Invariant: whatever comes in, no tag, attribute or script can begin in what comes out.
#pragma once

#include <string>
#include <string_view>

namespace joulery {

// One line, with & < > " ' as character references and control characters visible.
std::string html_text(std::string_view text);

}  // namespace joulery
