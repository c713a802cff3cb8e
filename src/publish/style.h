// How text looks on a terminal: colours, characters, width; and when colours are wanted at all.
// Invariant: without colour no escape sequence is ever written; without unicode nothing beyond ASCII is.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"

namespace joulery {

struct TextStyle {
  bool colour = false;
  bool unicode = true;
  int width = 80;  // columns; at least 40 are used
};

// What a piece of text is, so that the palette stays in one place.
enum class Ink { plain, strong, dim, good, fair, poor, bad, accent };

std::string painted(std::string_view text, Ink ink, const TextStyle& style);

// auto | always | never, as --color takes it. Error: usage.
enum class ColourChoice { automatic, always, never };
Result<ColourChoice> parse_colour_choice(std::string_view text);

// --color first; then NO_COLOR set and not empty (no-color.org) and TERM=dumb say no; then whether the stream is a terminal.
// `no_color` and `term` are the environment variables, empty optionals where unset.
bool use_colour(ColourChoice choice, std::optional<std::string_view> no_color, std::optional<std::string_view> term, bool is_terminal);

// True where LC_ALL, else LC_CTYPE, else LANG (the first that is set and not empty) names a UTF-8 character set.
bool use_unicode(std::string_view lc_all, std::string_view lc_ctype, std::string_view lang);

}  // namespace joulery
