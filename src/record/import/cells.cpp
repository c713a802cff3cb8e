#include "record/import/cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace joulery {
namespace {

struct Word {
  std::string_view text;  // lower case, without brackets; a cell that begins so
  MissingReason reason;
};
constexpr Word words[] = {
    {"n/a", MissingReason::not_supported},
    {"not supported", MissingReason::not_supported},
    {"<not supported>", MissingReason::not_supported},
    {"not found", MissingReason::not_supported},
    {"not available", MissingReason::not_supported},
    {"requested functionality has been deprecated", MissingReason::not_supported},
    {"deprecated", MissingReason::not_supported},
    {"<not counted>", MissingReason::io_error},
    {"err!", MissingReason::io_error},
    {"unknown error", MissingReason::io_error},
    {"insufficient permissions", MissingReason::permission},
    {"no permission", MissingReason::permission},
    {"gpu is lost", MissingReason::device_lost},
    {"gpu requires reset", MissingReason::device_lost},
    {"timeout", MissingReason::timed_out},
};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

MissingReason reason_of(std::string_view cell) {
  if (cell.starts_with('[')) cell.remove_prefix(1);
  if (cell.empty()) return MissingReason::not_supported;
  std::string plain(cell.substr(0, 64));
  std::ranges::transform(plain, plain.begin(), lower);
  for (const Word& word : words)
    if (plain.starts_with(word.text)) return word.reason;
  return MissingReason::rubbish;
}

// What may follow a number: nothing, or a unit ("W", "MiB", "%", "mJ").
bool is_unit(std::string_view rest) {
  rest = cell_text(rest);
  return rest.size() <= 8 && std::ranges::all_of(rest, [](char c) { return (lower(c) >= 'a' && lower(c) <= 'z') || c == '%' || c == '/'; });
}

}  // namespace

std::string_view cell_text(std::string_view text) {
  constexpr std::string_view space = " \t\r\n";
  const auto from = text.find_first_not_of(space);
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(space) - from + 1);
}

std::vector<std::string> split_cells(std::string_view line, char separator) {
  std::vector<std::string> cells(1);
  bool quoted = false, was_quoted = false;
  const auto close = [&] {
    if (!was_quoted) cells.back() = std::string(cell_text(cells.back()));
    was_quoted = false;
  };
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      cells.back() += line[++i];
    } else if (quoted ? c == '"' : c == '"' && cell_text(cells.back()).empty()) {
      if (!quoted) cells.back().clear();
      quoted = !quoted;
      was_quoted = true;
    } else if (c == separator && !quoted) {
      close();
      cells.emplace_back();
    } else if (!was_quoted || quoted) {
      cells.back() += c;
    }
  }
  close();
  return cells;
}

std::expected<double, MissingReason> number_in(std::string_view cell) {
  cell = cell_text(cell);
  double value = 0;
  const auto [end, failed] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (failed != std::errc{}) return std::unexpected(reason_of(cell));
  const std::string_view rest = cell.substr(static_cast<std::size_t>(end - cell.data()));
  if (!std::isfinite(value) || !is_unit(rest)) return std::unexpected(MissingReason::rubbish);
  return value;
}

LoggedValue value_in(std::string_view cell, double unit, double scale) {
  const auto number = number_in(cell);
  if (!number) return {0, number.error()};
  const double counts = *number * scale / unit;
  if (!(counts >= 0) || counts > 9e18) return {0, MissingReason::rubbish};
  return {static_cast<std::int64_t>(std::llround(counts)), MissingReason::none};
}

void add_line(LoggedDevice& device, LoggedLine line, std::size_t& went_back) {
  if (!device.lines.empty() && line.at < device.lines.back().at)
    ++went_back;
  else
    device.lines.push_back(std::move(line));
}

void note_clock(ImportedLog& log, std::size_t went_back) {
  if (went_back > 0) log.notes.push_back(fmt::format("clock-went-back: {} {} left out", went_back, went_back == 1 ? "line" : "lines"));
}

}  // namespace joulery
