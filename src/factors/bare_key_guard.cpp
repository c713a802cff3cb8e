#include "factors/bare_key_guard.h"

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

}  // namespace joulery
