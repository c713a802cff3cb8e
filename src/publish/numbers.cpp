#include "publish/numbers.h"

#include <fmt/format.h>

#include <cmath>

#include "core/units.h"

namespace joulery {

std::string exact_joules(Energy energy) {
  const std::int64_t value = energy.base_units();
  const std::uint64_t size = value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  return fmt::format("{}{}.{:06}", value < 0 ? "-" : "", size / 1'000'000, size % 1'000'000);
}

std::string grouped(std::int64_t value) {
  std::string digits = fmt::format("{}", value);
  const std::size_t first = value < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string compact(double value) {
  const double size = std::abs(value);
  if (!std::isfinite(value)) return "missing";
  if (size == 0) return "0";
  if (size >= 9e15) return fmt::format("{:.3g}", value);
  if (size >= 99.95) return grouped(static_cast<std::int64_t>(std::llround(value)));
  if (size == std::floor(size)) return fmt::format("{:.0f}", value);
  if (size < 1e-7) return fmt::format("{:.2g}", value);
  // Three significant digits: as many decimals as the rounded value's magnitude leaves.
  const int magnitude = static_cast<int>(std::floor(std::log10(size * 1.0005)));
  return fmt::format("{:.{}f}", value, 2 - magnitude);
}

std::string percent(double share) {
  const double value = share * 100;
  if (!std::isfinite(value)) return "missing";
  if (value == 0) return "0 %";
  if (value > 0 && value < 0.1) return "<0.1 %";
  if (std::abs(value) >= 99.95) return fmt::format("{:.0f} %", value);
  return fmt::format("{:.1f} %", value);
}

std::string watt_hours(Energy energy) {
  // "3.42 W" + "h": the prefix logic of power serves watt-hours as it is.
  return to_text(watts(to_joules(energy) / 3600.0)) + "h";
}

std::string or_missing(const std::optional<Energy>& energy) { return energy ? to_text(*energy) : "missing"; }
std::string or_missing(const std::optional<double>& watts_value) {
  return watts_value && std::isfinite(*watts_value) ? to_text(watts(*watts_value)) : "missing";
}

std::string counted(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", grouped(count), noun, count == 1 ? "" : "s");
}

}  // namespace joulery
