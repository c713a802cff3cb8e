#include "watch/profile/json_scan.h"

#include <array>
#include <bit>
#include <bitset>
#include <charconv>
#include <limits>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace joulery {
namespace {

// The first quote, backslash or byte below a space from `at`; the zero bytes behind the end stop it.
const char* string_stop(const char* at) {
#if defined(__SSE2__)
  const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\'), last_control = _mm_set1_epi8(0x1f);
  for (;; at += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, last_control), bytes);
    const __m128i hit = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, slash)), control);
    if (const auto mask = static_cast<unsigned>(_mm_movemask_epi8(hit))) return at + std::countr_zero(mask);
  }
#else
  while (*at != '"' && *at != '\\' && static_cast<unsigned char>(*at) >= 0x20) ++at;
  return at;
#endif
}

// The first quote or bracket of any kind from `at`, or the zero behind the end.
const char* structure_stop(const char* at) {
#if defined(__SSE2__)
  // '{' '}' '[' ']' differ from one another by 0x20 and 0x06: with 0x20 set, two values are left.
  const __m128i bit = _mm_set1_epi8(0x20), open = _mm_set1_epi8('{'), close = _mm_set1_epi8('}'), quote = _mm_set1_epi8('"');
  for (;; at += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const __m128i folded = _mm_or_si128(bytes, bit);
    const __m128i brackets = _mm_or_si128(_mm_cmpeq_epi8(folded, open), _mm_cmpeq_epi8(folded, close));
    const __m128i others = _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, _mm_setzero_si128()));
    if (const auto mask = static_cast<unsigned>(_mm_movemask_epi8(_mm_or_si128(brackets, others)))) return at + std::countr_zero(mask);
  }
#else
  while (*at != '\0' && *at != '"' && *at != '{' && *at != '}' && *at != '[' && *at != ']') ++at;
  return at;
#endif
}

// What numbers, true, false and null are made of.
constexpr auto of_word = [] {
  std::array<bool, 256> letters{};
  for (unsigned c = 0; c < 256; ++c)
    letters[c] = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '-' || c == '+';
  return letters;
}();

void append_utf8(std::string& to, unsigned code) {
  if (code < 0x80) {
    to += static_cast<char>(code);
  } else if (code < 0x800) {
    to += static_cast<char>(0xc0 | (code >> 6));
    to += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    to += static_cast<char>(0xe0 | (code >> 12));
    to += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    to += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    to += static_cast<char>(0xf0 | (code >> 18));
    to += static_cast<char>(0x80 | ((code >> 12) & 0x3f));
    to += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    to += static_cast<char>(0x80 | (code & 0x3f));
  }
}

// The four digits at `at` of `text`, or -1.
int hex4(std::string_view text, std::size_t at) {
  if (at + 4 > text.size()) return -1;
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data() + at, text.data() + at + 4, value, 16);
  return error == std::errc() && end == text.data() + at + 4 ? static_cast<int>(value) : -1;
}

// The character of "\uXXXX" whose digits begin at `at`; moves `at` behind it, over a surrogate pair too.
unsigned unicode_escape(std::string_view text, std::size_t& at) {
  constexpr unsigned replacement = 0xfffd;
  const int high = hex4(text, at);
  if (high < 0) return replacement;
  at += 4;
  if (high < 0xd800 || high > 0xdfff) return static_cast<unsigned>(high);
  const int low = text.substr(at, 2) == "\\u" ? hex4(text, at + 2) : -1;
  if (high > 0xdbff || low < 0xdc00 || low > 0xdfff) return replacement;
  at += 6;
  return 0x10000u + ((static_cast<unsigned>(high) - 0xd800u) << 10) + (static_cast<unsigned>(low) - 0xdc00u);
}

std::string_view unquoted(std::string_view text) {
  return text.size() >= 2 && text.front() == '"' ? text.substr(1, text.size() - 2) : text;
}

}  // namespace

bool scan_string(JsonCursor& json, std::string_view& text) {
  if (!json.literal('"')) return false;
  const char* const begin = json.at;
  for (;;) {
    json.at = string_stop(json.at);
    if (json.at >= json.end) {
      json.at = json.end;
      return false;
    }
    if (*json.at == '"') break;
    if (*json.at != '\\') return false;
    if (json.end - json.at < 2) {
      json.at = json.end;
      return false;
    }
    json.at += 2;
  }
  text = {begin, static_cast<std::size_t>(json.at - begin)};
  ++json.at;
  return true;
}

bool scan_word(JsonCursor& json, std::string_view& text) {
  json.space();
  const char* const begin = json.at;
  while (of_word[static_cast<unsigned char>(*json.at)]) ++json.at;
  text = {begin, static_cast<std::size_t>(json.at - begin)};
  return !text.empty() && json.at < json.end;
}

bool scan_value(JsonCursor& json, std::string_view& text) {
  json.space();
  const char* const begin = json.at;
  std::string_view part;
  if (*begin == '"') {
    if (!scan_string(json, part)) return false;
  } else if (*begin != '{' && *begin != '[') {
    return scan_word(json, text);
  } else {
    std::bitset<max_json_depth + 1> is_object;
    int depth = 0;
    do {
      json.at = structure_stop(json.at);
      if (json.at >= json.end) {
        json.at = json.end;
        return false;
      }
      const char c = *json.at;
      if (c == '"') {
        if (!scan_string(json, part)) return false;
        continue;
      }
      if (c == '\0') return false;
      if (c == '{' || c == '[') {
        if (depth == max_json_depth) return false;
        is_object[static_cast<std::size_t>(depth++)] = c == '{';
      } else if (is_object[static_cast<std::size_t>(--depth)] != (c == '}')) {
        return false;
      }
      ++json.at;
    } while (depth > 0);
  }
  text = {begin, static_cast<std::size_t>(json.at - begin)};
  return true;
}

std::string unescape_json(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i++];
    if (c != '\\' || i == text.size()) {
      plain += c;
      continue;
    }
    const char escape = text[i++];
    switch (escape) {
      case 'n': plain += '\n'; break;
      case 't': plain += '\t'; break;
      case 'r': plain += '\r'; break;
      case 'b': plain += '\b'; break;
      case 'f': plain += '\f'; break;
      case 'u': append_utf8(plain, unicode_escape(text, i)); break;
      default: plain += escape;
    }
  }
  return plain;
}

namespace {

// Nearly all: up to 15 digits, a point, up to 3 more. False for what is of another form, be it a number or not.
bool plain_microseconds(std::string_view text, std::int64_t& ns) {
  constexpr std::size_t most_whole = 15, nano_digits = 3;
  std::int64_t value = 0;
  std::size_t i = 0;
  for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
    if (i == most_whole) return false;
    value = value * 10 + (text[i] - '0');
  }
  if (i == 0 || (i < text.size() && text[i] != '.')) return false;
  const std::string_view decimals = i < text.size() ? text.substr(i + 1) : std::string_view{};
  if (decimals.size() > nano_digits) return false;
  for (std::size_t digit = 0; digit < nano_digits; ++digit) {
    const char c = digit < decimals.size() ? decimals[digit] : '0';
    if (c < '0' || c > '9') return false;
    value = value * 10 + (c - '0');
  }
  ns = value;
  return true;
}

}  // namespace

bool microseconds_token(std::string_view text, std::int64_t& ns) {
  if (plain_microseconds(text, ns)) return true;
  text = unquoted(text);
  const bool negative = !text.empty() && text.front() == '-';
  if (negative) text.remove_prefix(1);
  constexpr int nano_digits = 3;
  constexpr std::uint64_t largest = std::numeric_limits<std::int64_t>::max() / 10 - 1;
  // The digits as one whole number, and how many of them stand behind the point.
  int point = -1, digits = 0, exponent = 0;
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    if (text[i] == '.' && point < 0)
      point = digits;
    else if (text[i] >= '0' && text[i] <= '9')
      ++digits;
    else
      break;
  }
  if (digits == 0) return false;
  const std::string_view mantissa = text.substr(0, i);
  if (i < text.size()) {
    if (text[i] != 'e' && text[i] != 'E') return false;
    const char* from = text.data() + i + 1;
    if (from < text.data() + text.size() && *from == '+') ++from;
    const auto [end, error] = std::from_chars(from, text.data() + text.size(), exponent);
    if (error != std::errc() || end != text.data() + text.size() || exponent > 30 || exponent < -300) return false;
  }
  const int whole = (point < 0 ? digits : point) + exponent + nano_digits;  // digits of the result, those that are missing as zeros
  std::uint64_t value = 0;
  int seen = 0;
  bool up = false;
  for (const char c : mantissa) {
    if (c == '.') continue;
    if (seen < whole) {
      if (value > largest) return false;
      value = value * 10 + static_cast<std::uint64_t>(c - '0');
    } else if (seen == whole) {
      up = c >= '5';
    }
    ++seen;
  }
  for (; seen < whole; ++seen) {
    if (value > largest) return false;
    value *= 10;
  }
  if (up) ++value;
  ns = negative ? -static_cast<std::int64_t>(value) : static_cast<std::int64_t>(value);
  return true;
}

bool integer_token(std::string_view text, std::int64_t& value) {
  text = unquoted(text);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace joulery
