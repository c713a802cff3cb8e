#include "core/units.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

namespace joulery {
namespace {

struct Unit {
  std::string_view symbol;
  double base;      // base units per one of these
  bool prefixable;  // takes SI prefixes
};

struct Prefix {
  std::string_view symbol;
  double factor;
};

constexpr Prefix prefixes[] = {{"n", 1e-9}, {"u", 1e-6}, {"µ", 1e-6}, {"μ", 1e-6}, {"m", 1e-3},
                               {"k", 1e3},  {"M", 1e6},  {"G", 1e9},  {"T", 1e12}, {"P", 1e15}};
constexpr Unit energy_units[] = {{"J", 1.0, true}, {"Wh", 3600.0, true}, {"Ws", 1.0, true}};
constexpr Unit power_units[] = {{"W", 1.0, true}};
constexpr Unit time_units[] = {{"s", 1.0, true},   {"sec", 1.0, false},  {"min", 60.0, false},
                               {"m", 60.0, false}, {"h", 3600.0, false}, {"d", 86400.0, false}};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::optional<double> factor_of(std::string_view symbol, std::span<const Unit> units) {
  for (const Unit& unit : units)
    if (symbol == unit.symbol) return unit.base;
  for (const Unit& unit : units)
    for (const Prefix& prefix : prefixes)
      if (unit.prefixable && symbol.starts_with(prefix.symbol) && symbol.substr(prefix.symbol.size()) == unit.symbol)
        return prefix.factor * unit.base;
  return std::nullopt;
}

// Takes one "number unit" off the front of `text`; nullopt where there is none.
std::optional<double> take_part(std::string_view& text, std::span<const Unit> units) {
  double number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc{} || !std::isfinite(number)) return std::nullopt;
  text = trimmed(text.substr(static_cast<std::size_t>(end - text.data())));
  const std::size_t length = std::min(text.find_first_of("0123456789. "), text.size());
  const auto factor = factor_of(text.substr(0, length), units);
  if (!factor) return std::nullopt;
  text = trimmed(text.substr(length));
  return number * *factor;
}

Result<double> parse(std::string_view text, std::span<const Unit> units, std::string_view kind, std::string_view example) {
  const auto bad = [&] {
    return fail(ErrorCode::usage, fmt::format("not {}: '{}'", kind, text), "", fmt::format("write for example {}", example));
  };
  std::string_view rest = trimmed(text);
  double total = 0;
  if (rest.empty()) return bad();
  while (!rest.empty()) {
    const auto part = take_part(rest, units);
    if (!part) return bad();
    total += *part;
  }
  return total;
}

template <class Range>
Result<double> within(Result<double> value, double limit, Range&& complaint) {
  if (value && std::abs(*value) > limit) return fail(ErrorCode::usage, complaint);
  return value;
}

std::string with_prefix(double value, std::string_view unit) {
  static constexpr Prefix steps[] = {{"n", 1e-9}, {"µ", 1e-6}, {"m", 1e-3}, {"", 1.0}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}};
  if (value == 0) return fmt::format("0 {}", unit);
  const Prefix* chosen = &steps[0];
  for (const Prefix& step : steps)
    if (std::abs(value) >= step.factor * 0.9995) chosen = &step;
  const double scaled = value / chosen->factor;
  const int decimals = std::abs(scaled) < 9.995 ? 2 : std::abs(scaled) < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}{}", scaled, decimals, chosen->symbol, unit);
}

}  // namespace

Result<Energy> parse_energy(std::string_view text) {
  const auto value = within(parse(text, energy_units, "an energy", "250J or 1.5kWh"), 9.2e12, "an energy beyond 9.2e12 J");
  if (!value) return std::unexpected(value.error());
  return joules(*value);
}

Result<Power> parse_power(std::string_view text) {
  const auto value = parse(text, power_units, "a power", "250mW or 65W");
  if (!value) return std::unexpected(value.error());
  return watts(*value);
}

Result<Duration> parse_duration(std::string_view text) {
  const auto value = within(parse(text, time_units, "a duration", "100ms, 90s or 1h"), 9.2e9, "a duration beyond 290 years");
  if (!value) return std::unexpected(value.error());
  return seconds(*value);
}

std::string to_text(Energy energy) { return with_prefix(to_joules(energy), "J"); }
std::string to_text(Power power) { return with_prefix(to_watts(power), "W"); }
std::string to_text(Carbon carbon) { return with_prefix(to_grams(carbon), "g CO2e"); }

std::string to_text(Duration duration) {
  const double s = to_seconds(duration);
  const auto whole = static_cast<std::int64_t>(std::llround(std::abs(s)));
  if (whole < 100) return with_prefix(s, "s");
  const char* sign = s < 0 ? "-" : "";
  if (whole < 3600) return fmt::format("{}{} min {:02} s", sign, whole / 60, whole % 60);
  return fmt::format("{}{} h {:02} min", sign, whole / 3600, whole % 3600 / 60);
}

std::string to_decimal(double value) {
  std::array<char, 32> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), result.ptr};
}

}  // namespace joulery
