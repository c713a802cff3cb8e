// What must not reach the TOML parser. toml++ 3.3 runs into undefined behaviour on some letters beyond ASCII in a bare
// key (the bytes d1 b8, say), and no key of ours has any: such a file is refused before it is parsed.
#pragma once

#include <cstddef>
#include <string_view>

namespace joulery {

// The number of the first line, from 1, with a byte beyond ASCII before its first quote or comment; 0 where there is none.
// A line that goes on with a text of several lines may be refused too: no key of ours takes such a text.
std::size_t line_beyond_ascii(std::string_view text);

}  // namespace joulery
