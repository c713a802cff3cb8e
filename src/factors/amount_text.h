// "0.30 EUR/kWh" taken apart into number and unit; the point is '.' whatever the locale says.
#pragma once

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

namespace joulery {

constexpr std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

struct Amount {
  double number = 0;        // finite
  std::string_view unit;    // what follows the number, without white space around it
};

// Nothing where the text does not begin with a decimal number.
inline std::optional<Amount> parse_amount(std::string_view text) {
  text = trimmed(text);
  Amount amount;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), amount.number);
  if (failed != std::errc{} || !std::isfinite(amount.number)) return std::nullopt;
  amount.unit = trimmed(text.substr(static_cast<std::size_t>(end - text.data())));
  return amount;
}

}  // namespace joulery
