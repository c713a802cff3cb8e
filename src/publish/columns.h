// Lays out the lines of the terminal summary: a table whose sections share one set of columns (name, energy, share, bar,
// watts, peak, words), and labelled paragraphs. Invariant: no line is wider than the style's width unless one word
// is, none ends in a space.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "publish/style.h"

namespace joulery {

struct TableRow {
  bool heading = false;
  std::string name{}, energy{}, share{};
  std::optional<double> bar{};  // 0..1
  std::string watts{}, peak{};  // the peak is the first to go where the width is small
  std::string words{};          // how it is known, or how long it took; wrapped in what is left of the width
  Ink ink = Ink::plain;         // of the words
  bool dim = false;             // the whole row stands back: overlaps
  bool missing = false;         // the words start right after the energy, for there are no further numbers
};

// The rows as lines, each ended by a newline. An empty heading row is a blank line.
std::string table_text(std::vector<TableRow> rows, const TextStyle& style);

// "  Label     text", wrapped with a hanging indent.
std::string labelled(std::string_view label, std::string_view text, const TextStyle& style, Ink ink = Ink::plain);

// Words broken at spaces into lines of at most `width` columns; a longer word stands alone.
std::vector<std::string> wrapped(std::string_view text, int width);

// `text` filled up with blanks to `width` columns of a terminal; at its front where it stands to the right.
std::string padded(const std::string& text, int width, bool right = false);

// A bar of `cells` columns, filled to `share` in eighths of a column (in ASCII: whole columns of '#').
std::string bar_text(double share, int cells, bool unicode);

}  // namespace joulery
