// Whole numbers as kernel files hold them: digits, then nothing but white space. Strict, without locale or allocation:
// "12 abc", "0x1f", "1.5", "" and numbers that do not fit are no numbers.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace joulery {

constexpr std::string_view trim_end(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

constexpr std::string_view trim_start(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  return text;
}

// The whole of `text`, less white space at its end, as a number of type Int.
template <class Int>
std::optional<Int> parse_whole(std::string_view text, int base = 10) {
  text = trim_end(text);
  Int value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Takes the next white-space separated word off `rest`; "" at the end.
constexpr std::string_view next_word(std::string_view& rest) {
  rest = trim_start(rest);
  const std::size_t end = rest.find_first_of(" \t\n");
  const std::string_view word = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end);
  return word;
}

// Takes the next line off `rest`, without its end.
constexpr std::string_view next_line(std::string_view& rest) {
  const std::size_t end = rest.find('\n');
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return line;
}

}  // namespace joulery
