// A report as GitHub-flavoured Markdown, to be pasted into a pull request. Invariant: names from outside are escaped, so
// that no name can start a table cell, a link, a tag or a heading of its own.
#pragma once

#include <string>
#include <string_view>

#include "judge/report.h"

namespace joulery {

std::string report_markdown(const Report& report);

// Text on one line with Markdown's and HTML's special characters escaped.
std::string markdown_text(std::string_view text);

}  // namespace joulery
