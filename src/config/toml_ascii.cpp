#include "config/toml_ascii.h"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace joulery {

namespace {

bool begins_a_key(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '"' || c == '\'';
}

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\t' && c != '\n' && c != '\r') || byte == 0x7f;
}

// One line, without its end.
bool is_unfit(std::string_view line) {
  const std::size_t first = std::min(line.find_first_not_of(" \t"), line.size());
  if (line.substr(first).starts_with('[')) {
    const std::size_t inner = first + (line.substr(first).starts_with("[[") ? 2 : 1);
    const std::size_t name = line.find_first_not_of(" \t", inner);
    if (name == std::string_view::npos || !begins_a_key(line[name])) return true;
  }
  const std::string_view plain = line.substr(0, line.find_first_of("\"'#"));
  return std::ranges::any_of(line, is_control) || std::ranges::any_of(plain, [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
}

}  // namespace

std::size_t unfit_line(std::string_view text) {
  std::size_t number = 1;
  for (std::size_t begin = 0; begin < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (is_unfit(text.substr(begin, end - begin))) return number;
    begin = end + 1;
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
