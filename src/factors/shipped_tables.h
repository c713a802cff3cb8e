// The tables of data/ as lines in the program, so that an estimate needs no file at run time (cmake/embed.cmake).
// Invariant: comments are left out; the first line of a table with named columns holds their names.
#pragma once

#include <array>
#include <charconv>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace joulery::shipped {

using Lines = std::span<const std::string_view>;

Lines cpu_families();
Lines cpu_ids();
Lines cpu_tdp();
Lines power_model();

// The fields between commas; these tables quote nothing.
inline std::vector<std::string_view> fields(std::string_view line) {
  std::vector<std::string_view> out;
  for (std::size_t at = 0;;) {
    const std::size_t comma = line.find(',', at);
    out.push_back(line.substr(at, comma - at));
    if (comma == std::string_view::npos) return out;
    at = comma + 1;
  }
}

// A number of a shipped table, whatever the locale says; nothing where the text is not one.
inline std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace joulery::shipped
