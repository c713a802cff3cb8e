#include "publish/progress.h"

#include "core/units.h"
#include "publish/utf8.h"

namespace joulery {

std::string progress_line(Duration elapsed, const std::optional<Energy>& energy, const std::optional<Power>& power,
                          const TextStyle& style) {
  struct Part {
    std::string text;
    Ink ink;
  };
  const Part parts[] = {{"joulery", Ink::accent},
                        {to_text(elapsed), Ink::plain},
                        {energy ? to_text(*energy) : "", Ink::strong},
                        {power ? to_text(*power) : "", Ink::plain}};
  std::string line;
  int used = 0;
  for (const Part& part : parts) {
    if (part.text.empty()) continue;
    const std::string text = printable(part.text, style.unicode);
    const int needed = (line.empty() ? 0 : 2) + display_width(text);
    if (used + needed > style.width - 1) break;  // the last column would make some terminals wrap
    line += (line.empty() ? "" : "  ") + painted(text, part.ink, style);
    used += needed;
  }
  return line;
}

}  // namespace joulery
