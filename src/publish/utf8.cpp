#include "publish/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace joulery {
namespace {

struct Range {
  char32_t first, last;
};

// Unicode 15: the blocks that combine (width 0) and that are wide (width 2), by whole block.
constexpr Range combining[] = {{0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},   {0x610, 0x61a},   {0x64b, 0x65f},   {0x93c, 0x93c},
                               {0x94d, 0x94d},   {0xe31, 0xe31},   {0xe34, 0xe3a},   {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200f},
                               {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xfeff, 0xfeff}};
constexpr Range wide[] = {{0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0xa4cf},  {0xa960, 0xa97c}, {0xac00, 0xd7a3},
                          {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},  {0xffe0, 0xffe6}, {0x1f300, 0x1f64f},
                          {0x1f680, 0x1f6ff}, {0x1f900, 0x1faff}, {0x20000, 0x3fffd}};

template <std::size_t N>
bool within(char32_t code, const Range (&ranges)[N]) {
  return std::any_of(std::begin(ranges), std::end(ranges), [&](Range r) { return r.first <= code && code <= r.last; });
}

int width_of(char32_t code) { return within(code, combining) ? 0 : within(code, wide) ? 2 : 1; }

std::string escaped(char32_t code) {
  if (code == '\n') return "\\n";
  if (code == '\t') return "\\t";
  if (code == '\r') return "\\r";
  if (code < 0x100) return fmt::format("\\x{:02x}", static_cast<unsigned>(code));
  return fmt::format("\\u{{{:x}}}", static_cast<unsigned>(code));
}

// The two signs that our own text uses have ASCII forms of their own.
std::string in_ascii(char32_t code) {
  if (code == 0xb5 || code == 0x3bc) return "u";
  return code == 0xb1 ? "+/-" : fmt::format("\\u{{{:x}}}", static_cast<unsigned>(code));
}

}  // namespace

CodePoint first_code_point(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  const CodePoint bad{lead, 1, false};
  if (lead < 0x80) return {lead, 1, true};
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return bad;
  char32_t code = lead & (0xffu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0u) != 0x80u) return bad;
    code = code << 6 | (byte(i) & 0x3fu);
  }
  constexpr char32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < least[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return bad;
  return {code, length, true};
}

bool is_control(char32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029 || (code >= 0x202a && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

std::string printable(std::string_view text, bool unicode) {
  std::string out;
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    if (!point.valid || is_control(point.code))
      out += escaped(point.code);
    else if (point.code >= 0x80 && !unicode)
      out += in_ascii(point.code);
    else
      out += text.substr(0, point.bytes);
    text.remove_prefix(point.bytes);
  }
  return out;
}

std::string valid_utf8(std::string_view text) {
  if (std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; })) return std::string(text);
  std::string out;
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    if (point.valid)
      out += text.substr(0, point.bytes);
    else
      out += escaped(point.code);
    text.remove_prefix(point.bytes);
  }
  return out;
}

int display_width(std::string_view text) {
  int width = 0;
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    width += width_of(point.code);
    text.remove_prefix(point.bytes);
  }
  return width;
}

std::string clipped(std::string_view text, int width, bool unicode) {
  if (display_width(text) <= width) return std::string(text);
  const std::string_view mark = unicode ? "…" : width >= 3 ? "..." : ".";
  const int room = width - display_width(mark);
  int used = 0;
  std::size_t end = 0;
  while (end < text.size()) {
    const CodePoint point = first_code_point(text.substr(end));
    if (used + width_of(point.code) > room) break;
    used += width_of(point.code);
    end += point.bytes;
  }
  return std::string(text.substr(0, end)).append(mark);
}

}  // namespace joulery
