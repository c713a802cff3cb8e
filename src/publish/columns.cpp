#include "publish/columns.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "publish/utf8.h"

namespace joulery {
namespace {

constexpr int indent = 2, label_width = 10, most_bar = 10, least_words = 13, most_words = 30;

struct Widths {
  int name = 0, energy = 0, share = 0, bar = 0, watts = 0, peak = 0, words = 0;
  int before_words() const {
    int sum = indent + name;
    for (const int column : {energy, share, watts, peak})
      if (column > 0) sum += 2 + column;
    return sum + (bar > 0 ? 1 + bar : 0) + 2;
  }
};

// 0 where nothing but titles would stand in the column.
int widest(const std::vector<TableRow>& rows, std::string TableRow::* cell) {
  int width = 0;
  bool any = false;
  for (const TableRow& row : rows) {
    width = std::max(width, display_width(row.*cell));
    any = any || (!row.heading && !(row.*cell).empty());
  }
  return any ? width : 0;
}

// The words of ordinary rows on one line, as far as that is reasonable.
int wanted_words(const std::vector<TableRow>& rows) {
  int width = 0;
  for (const TableRow& row : rows)
    if (!row.missing) width = std::max(width, display_width(row.words));
  return width;
}

// Gives every column its content's width, then takes from the least needed until the words have room.
Widths fit(const std::vector<TableRow>& rows, int width) {
  Widths w{widest(rows, &TableRow::name),
           widest(rows, &TableRow::energy),
           widest(rows, &TableRow::share),
           most_bar,
           widest(rows, &TableRow::watts),
           widest(rows, &TableRow::peak),
           0};
  const int wanted = wanted_words(rows);
  const auto lacking = [&](int words) { return w.before_words() + words - width; };
  if (std::none_of(rows.begin(), rows.end(), [](const TableRow& r) { return r.bar.has_value(); })) w.bar = 0;
  if (lacking(std::min(wanted, most_words)) > 0) w.peak = 0;
  if (lacking(wanted) > 0) w.name = std::max(std::min(w.name, 20), w.name - lacking(wanted));
  if (lacking(wanted) > 0 && w.bar > 0) w.bar = std::max(5, w.bar - lacking(wanted));
  const int least = std::min(wanted, least_words);
  if (lacking(least) > 0) w.bar = 0;
  if (lacking(least) > 0) w.name = std::max(std::min(w.name, 12), w.name - lacking(least));
  if (lacking(least) > 0) w.watts = 0;
  if (lacking(least) > 0) w.share = 0;
  w.words = std::max(8, width - w.before_words());
  return w;
}

bool is_number(std::string_view word) {
  if (word.starts_with('(')) word.remove_prefix(1);
  return !word.empty() && word.find_first_not_of("0123456789.,") == std::string_view::npos && word.back() != ',' && word.back() != '.';
}

void trim_right(std::string& line) {
  while (line.ends_with(' ')) line.pop_back();
}

// The numbers of one row up to the words. Paint goes around padded cells, so that widths stay right.
std::string cells(const TableRow& row, const Widths& w, const TextStyle& style, bool last) {
  const Ink ink = row.heading || row.dim ? Ink::dim : Ink::plain;
  std::string line(indent, ' ');
  line += painted(padded(clipped(row.name, w.name, style.unicode), w.name, false), row.heading ? Ink::strong : ink, style);
  if (row.missing) return line + "  " + painted(padded(row.energy, w.energy, true), Ink::bad, style) + "  ";
  line += "  " + painted(padded(row.energy, w.energy, true), ink == Ink::plain ? Ink::strong : ink, style);
  if (w.share > 0) line += "  " + painted(padded(row.share, w.share, true), ink, style);
  if (w.bar > 0)
    line += " " + (row.bar ? painted(padded(bar_text(*row.bar, w.bar, style.unicode), w.bar, false), Ink::accent, style)
                           : std::string(static_cast<std::size_t>(w.bar), ' '));
  if (w.watts > 0) line += "  " + painted(padded(row.watts, w.watts, true), ink, style);
  if (w.peak > 0) line += "  " + painted(padded(row.peak, w.peak, true), ink, style);
  if (!last) line += "  ";
  return line;
}

std::string row_text(const TableRow& row, const Widths& w, const TextStyle& style) {
  const int start = row.missing ? indent + w.name + 2 + w.energy + 2 : w.before_words();
  const int room = row.missing ? std::max(8, style.width - start) : w.words;
  std::string out = cells(row, w, style, row.words.empty());
  const Ink ink = row.heading || row.dim ? Ink::dim : row.ink;
  bool first = true;
  for (const std::string& piece : wrapped(row.words, room)) {
    if (!first) out.append(static_cast<std::size_t>(start), ' ');
    out += painted(piece, ink, style);
    trim_right(out);
    out += '\n';
    first = false;
  }
  if (!first) return out;
  trim_right(out);
  return out + "\n";
}

}  // namespace

std::string table_text(std::vector<TableRow> rows, const TextStyle& style) {
  for (TableRow& row : rows)
    for (std::string TableRow::* cell : {&TableRow::name, &TableRow::energy, &TableRow::watts, &TableRow::peak, &TableRow::words})
      row.*cell = printable(row.*cell, style.unicode);
  const Widths w = fit(rows, style.width);
  std::string out;
  for (const TableRow& row : rows) {
    if (row.heading && row.name.empty())
      out += '\n';
    else
      out += row_text(row, w, style);
  }
  return out;
}

std::string labelled(std::string_view label, std::string_view text, const TextStyle& style, Ink ink) {
  std::string out(indent, ' ');
  out += painted(padded(std::string(label), label_width, false), label.empty() ? Ink::plain : Ink::strong, style);
  bool first = true;
  for (const std::string& piece : wrapped(printable(text, style.unicode), std::max(20, style.width - indent - label_width))) {
    if (!first) out.append(indent + label_width, ' ');
    out += painted(piece, ink, style) + "\n";
    first = false;
  }
  return first ? out + "\n" : out;
}

std::vector<std::string> wrapped(std::string_view text, int width) {
  // A number stays with its unit: "12.3 kJ" is one word here.
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    const bool after_number = !words.empty() && is_number(words.back());
    if (after_number && display_width(word) <= 6)
      (words.back() += ' ') += word;
    else
      words.emplace_back(word);
  }
  std::vector<std::string> lines;
  for (std::string& word : words) {
    if (!lines.empty() && display_width(lines.back()) + 1 + display_width(word) <= width)
      (lines.back() += ' ') += word;
    else
      lines.push_back(std::move(word));
  }
  return lines;
}

std::string padded(const std::string& text, int width, bool right) {
  const std::string fill(static_cast<std::size_t>(std::max(0, width - display_width(text))), ' ');
  return right ? fill + text : text + fill;
}

std::string bar_text(double share, int cells_wide, bool unicode) {
  static constexpr std::string_view eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  if (!std::isfinite(share)) return {};
  const double clamped = std::clamp(share, 0.0, 1.0) * cells_wide;
  std::string bar;
  if (!unicode) return std::string(static_cast<std::size_t>(std::lround(clamped)), '#');
  int left = static_cast<int>(std::lround(clamped * 8));
  if (left == 0 && share > 0) left = 1;
  for (; left >= 8; left -= 8) bar += "█";
  return bar.append(eighths[left]);
}

}  // namespace joulery
