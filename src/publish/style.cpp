#include "publish/style.h"

#include <algorithm>
#include <cctype>

namespace joulery {

std::string painted(std::string_view text, Ink ink, const TextStyle& style) {
  // SGR codes of the 16 basic colours, which follow the terminal's own light or dark theme.
  static constexpr std::string_view codes[] = {"", "1", "2", "32", "36", "33", "31", "34"};
  if (!style.colour || ink == Ink::plain || text.empty()) return std::string(text);
  return std::string("\x1b[").append(codes[static_cast<std::size_t>(ink)]).append("m").append(text).append("\x1b[0m");
}

Result<ColourChoice> parse_colour_choice(std::string_view text) {
  if (text == "auto") return ColourChoice::automatic;
  if (text == "always") return ColourChoice::always;
  if (text == "never") return ColourChoice::never;
  return fail(ErrorCode::usage, "not a colour setting: '" + std::string(text) + "'", "--color", "use auto, always or never");
}

bool use_colour(ColourChoice choice, std::optional<std::string_view> no_color, std::optional<std::string_view> term, bool is_terminal) {
  if (choice != ColourChoice::automatic) return choice == ColourChoice::always;
  if (no_color && !no_color->empty()) return false;
  if (term && *term == "dumb") return false;
  return is_terminal;
}

bool use_unicode(std::string_view lc_all, std::string_view lc_ctype, std::string_view lang) {
  const std::string_view locale = !lc_all.empty() ? lc_all : !lc_ctype.empty() ? lc_ctype : lang;
  std::string lower(locale);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower.find("utf-8") != std::string::npos || lower.find("utf8") != std::string::npos;
}

}  // namespace joulery
