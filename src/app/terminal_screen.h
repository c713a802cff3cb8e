// A whole terminal screen that is drawn again and again, and the keys pressed meanwhile. Gives the terminal back as it was, also
// after a signal that ends the program or stops it for a while.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/time.h"

namespace joulery {

class TerminalScreen {
 public:
  struct Size {
    int width = 80, height = 24;
  };

  // Takes the terminal behind stdin and stdout. Error: unsupported, where either is none.
  static Result<TerminalScreen> open();
  TerminalScreen(TerminalScreen&& other) noexcept;
  TerminalScreen& operator=(TerminalScreen&&) = delete;
  ~TerminalScreen();

  // The present size; 80 × 24 where the terminal does not say.
  static Size size();
  // Draws the lines over what is there; what they do not cover is cleared.
  void draw(const std::vector<std::string>& lines);
  // A key within the time: a character, or "up", "down", "page up", "page down", "enter", "escape", "backspace", "resize" when the size
  // changed, "end" when the program is asked to end.
  std::optional<std::string> key(Duration within);

 private:
  TerminalScreen() = default;
  bool ours_ = false;
};

// The keys in what a terminal sends; what is begun and not finished stays in `bytes`. For key(), and its test.
std::vector<std::string> take_keys(std::string& bytes);

}  // namespace joulery
