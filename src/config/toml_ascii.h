// What the TOML parser is given: printable ASCII alone. toml++ 3.3 runs into undefined behaviour on many letters from U+00A1 to
// U+0499, wherever it asks whether one is a space: in a bare key, after a value, before a quote. So no such letter
// reaches it. A letter beyond ASCII in a text or a comment passes in an ASCII spelling and is spelled back afterwards.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace joulery {

// The number of the first line, from 1, with a byte beyond ASCII before its first quote or comment, with a control character
// anywhere, or with a '[' at its head that no name follows: TOML forbids the latter two, and the parser takes it for granted that
// they do not come. 0 where there is none. A line that goes on with a text of several lines may be refused too: no key of ours takes such a text.
std::size_t unfit_line(std::string_view text);

// `text` with each byte beyond ASCII, and each '~', written as '~' and two hexadecimal digits. Lines stay where they were.
std::string ascii_spelling(std::string_view text);

// What `spelling` was before ascii_spelling; a '~' that no two hexadecimal digits follow stays.
std::string from_ascii_spelling(std::string_view spelling);

}  // namespace joulery
