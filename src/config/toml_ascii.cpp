#include "config/toml_ascii.h"

#include <charconv>
#include <system_error>

namespace joulery {

std::size_t line_beyond_ascii(std::string_view text) {
  std::size_t line = 1;
  bool plain = true;
  for (const char c : text) {
    if (c == '\n') {
      ++line;
      plain = true;
    }
    if (c == '"' || c == '\'' || c == '#') plain = false;
    if (plain && static_cast<unsigned char>(c) >= 0x80) return line;
  }
  return 0;
}

std::string ascii_spelling(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string spelled;
  spelled.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80 && c != '~') {
      spelled += c;
    } else {
      spelled += {'~', digits[byte >> 4], digits[byte & 15]};
    }
  }
  return spelled;
}

std::string from_ascii_spelling(std::string_view spelling) {
  std::string text;
  text.reserve(spelling.size());
  for (std::size_t i = 0; i < spelling.size(); ++i) {
    unsigned char byte = 0;
    const std::string_view digits = spelling.substr(i + 1 < spelling.size() ? i + 1 : i, 2);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    const bool spelled = spelling[i] == '~' && digits.size() == 2 && error == std::errc() && end == digits.data() + 2;
    text += spelled ? static_cast<char>(byte) : spelling[i];
    if (spelled) i += 2;
  }
  return text;
}

}  // namespace joulery
