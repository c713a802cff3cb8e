// JSON read where it lies, for traces of gigabytes: each function moves a cursor over one value and never copies. Nothing
// recurses, so that nesting costs no stack.
//
// Invariant: `at` never passes `end`. A function that returns false has met the end of the bytes (at == end: there may be
// more to come) or what is not JSON (at < end points to it). The bytes behind `end` are zero and readable.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace joulery {

struct JsonCursor {
  const char* at;
  const char* end;

  bool at_end() const { return at >= end; }
  void space() {
    if (static_cast<unsigned char>(*at) > ' ') return;
    while (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t') ++at;
  }
  // Spaces, then `c`.
  bool literal(char c) {
    space();
    if (*at != c) return false;
    ++at;
    return true;
  }
  char peek() {
    space();
    return at < end ? *at : '\0';
  }
};

inline constexpr int max_json_depth = 512;

// A string; `text` is what stands between the quotes, escapes and all.
bool scan_string(JsonCursor& json, std::string_view& text);
// A number, true, false or null as it stands there.
bool scan_word(JsonCursor& json, std::string_view& text);
// Any value, whatever it holds. `text` is all of it. False at the first byte that nests deeper than max_json_depth.
bool scan_value(JsonCursor& json, std::string_view& text);

// `text` of scan_string with its escapes resolved; wrong ones stay as they are.
std::string unescape_json(std::string_view text);

// A decimal number of microseconds in whole nanoseconds, exactly; digits below the nanosecond round half away from zero.
// False for what is no number or does not fit.
bool microseconds_token(std::string_view text, std::int64_t& ns);
// A whole number, with or without quotes around it. False for what is none or does not fit.
bool integer_token(std::string_view text, std::int64_t& value);

}  // namespace joulery
