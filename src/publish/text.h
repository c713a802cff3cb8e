// The summary that `joulery run` prints to stderr and `joulery report` to stdout. Total first, then where it went, when,
// what it bought, and at the end, as sentences, what limits the figures.
#pragma once

#include <string>

#include "judge/report.h"
#include "publish/phrases.h"
#include "publish/style.h"

namespace joulery {

// Lines ended by newlines, at most `style.width` (40 at least) columns wide.
std::string report_text(const Report& report, const TextStyle& style);

// The rule with a title at its left and a word at its right that opens a summary.
std::string title_line(std::string_view title, std::string_view right, Ink right_ink, const TextStyle& style);

// A note behind its mark, "!" for warnings, wrapped.
std::string note_text(const Note& note, const TextStyle& style);

}  // namespace joulery
