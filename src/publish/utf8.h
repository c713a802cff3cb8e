// Names that come from outside (commands, processes, units) as text that harms no terminal, page or file: control
// characters, bytes that are no UTF-8 and direction overrides become visible escapes such as \n, \xff, \u{202e}.
// Invariant: what `printable` gives is valid UTF-8 of one line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace joulery {

// One code point at the front of a text. Where the bytes are no UTF-8, `valid` is false, `code` the first byte, `bytes` 1.
struct CodePoint {
  char32_t code = 0;
  std::size_t bytes = 1;
  bool valid = false;
};

// `text` must not be empty. Overlong forms, surrogates and values beyond U+10FFFF are not valid (RFC 3629).
CodePoint first_code_point(std::string_view text);

// True for C0, DEL, C1, line and paragraph separators and the direction overrides of Unicode (U+202A-202E, U+2066-2069).
bool is_control(char32_t code);

// `text` on one line. With `unicode` false every character beyond ASCII becomes \u{hex} ("µ" becomes "u").
std::string printable(std::string_view text, bool unicode = true);

// `text` with each byte that is no UTF-8 written as \xff; all else as it is.
std::string valid_utf8(std::string_view text);

// Columns that a printable text takes on a terminal: 0 for combining marks, 2 for wide East Asian characters and emoji.
int display_width(std::string_view text);

// `text` cut to at most `width` (>= 1) columns, ending in an ellipsis where it was cut.
std::string clipped(std::string_view text, int width, bool unicode = true);

}  // namespace joulery
