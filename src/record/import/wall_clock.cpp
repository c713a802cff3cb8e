#include "record/import/wall_clock.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cmath>

#include "record/import/cells.h"

namespace joulery {
namespace {

struct Fields {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  std::int64_t ns = 0;
};

// Reads a text from left to right: whole numbers of a given width and the signs between them.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}
  bool digits(std::size_t least, std::size_t most, int& value) {
    std::size_t n = 0;
    value = 0;
    while (n < most && n < rest_.size() && rest_[n] >= '0' && rest_[n] <= '9') value = value * 10 + (rest_[n++] - '0');
    rest_.remove_prefix(n);
    return n >= least;
  }
  bool one_of(std::string_view signs) {
    if (rest_.empty() || signs.find(rest_.front()) == std::string_view::npos) return false;
    rest_.remove_prefix(1);
    return true;
  }
  // ".236" or ",236": up to nine places count.
  bool fraction(std::int64_t& ns) {
    ns = 0;
    if (!one_of(".,")) return true;
    std::int64_t place = 100'000'000;
    bool any = false;
    while (!rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9') {
      ns += (rest_.front() - '0') * place;
      place /= 10;
      any = true;
      rest_.remove_prefix(1);
    }
    return any;
  }
  void spaces() {
    while (one_of(" ")) {}
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

bool clock_of(Scanner& scan, Fields& f) {
  if (!scan.digits(1, 2, f.hour) || !scan.one_of(":") || !scan.digits(2, 2, f.minute)) return false;
  if (scan.one_of(":") && !scan.digits(2, 2, f.second)) return false;
  return scan.fraction(f.ns);
}

std::optional<WallTime> instant(const Fields& f, Duration utc_offset) {
  const std::chrono::year_month_day day{std::chrono::year(f.year), std::chrono::month(static_cast<unsigned>(f.month)),
                                        std::chrono::day(static_cast<unsigned>(f.day))};
  if (f.year < 1970 || f.year > 2200 || !day.ok() || f.hour > 23 || f.minute > 59 || f.second > 60) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(day).time_since_epoch().count();
  const std::int64_t s = days * 86400 + f.hour * 3600 + f.minute * 60 + f.second;
  return WallTime{s * 1'000'000'000 + f.ns} - utc_offset;
}

// Year first: "2023/07/08 19:28:27.236", "2026-03-01T10:00:00Z".
std::optional<WallTime> year_first(std::string_view text, Duration utc_offset) {
  Scanner scan(text);
  Fields f;
  if (!scan.digits(4, 4, f.year) || !scan.one_of("-/") || !scan.digits(2, 2, f.month) || !scan.one_of("-/") || !scan.digits(2, 2, f.day))
    return std::nullopt;
  if (scan.rest().empty()) return instant(f, utc_offset);
  if (!scan.one_of("T ") || !clock_of(scan, f)) return std::nullopt;
  scan.spaces();
  if (scan.rest().empty()) return instant(f, utc_offset);
  const auto zone = parse_utc_offset(scan.rest());
  return zone ? instant(f, *zone) : std::nullopt;
}

// Month first: "07-23-2022 01:05:41.201".
std::optional<WallTime> month_first(std::string_view text, Duration utc_offset) {
  Scanner scan(text);
  Fields f;
  if (!scan.digits(2, 2, f.month) || !scan.one_of("-/") || !scan.digits(2, 2, f.day) || !scan.one_of("-/") || !scan.digits(4, 4, f.year) ||
      !scan.one_of(" ") || !clock_of(scan, f) || !scan.rest().empty())
    return std::nullopt;
  return instant(f, utc_offset);
}

// As C's asctime: "Fri Apr 10 10:23:01 2026".
std::optional<WallTime> month_name(std::string_view text, Duration utc_offset) {
  constexpr std::string_view months = "JanFebMarAprMayJunJulAugSepOctNovDec";
  if (text.size() < 8 || text[3] != ' ') return std::nullopt;
  const auto at = months.find(text.substr(4, 3));
  if (at == std::string_view::npos || at % 3 != 0) return std::nullopt;
  Fields f;
  f.month = static_cast<int>(at / 3) + 1;
  Scanner scan(text.substr(7));
  scan.spaces();
  if (!scan.digits(1, 2, f.day) || !scan.one_of(" ") || !clock_of(scan, f) || !scan.one_of(" ") || !scan.digits(4, 4, f.year) ||
      !scan.rest().empty())
    return std::nullopt;
  return instant(f, utc_offset);
}

// One number since 1970: its size tells the unit, as the years 1973 to 2200 do not overlap.
std::optional<WallTime> number(std::string_view text) {
  double value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  for (const auto& [ns, least] : std::initializer_list<std::pair<double, double>>{{1, 1e17}, {1e3, 1e14}, {1e6, 1e11}, {1e9, 1e8}}) {
    if (value < least || value * ns > 7.26e18) continue;
    std::int64_t whole = 0;
    const auto [stop, bad] = std::from_chars(text.data(), text.data() + text.size(), whole);
    if (bad == std::errc{} && stop == text.data() + text.size()) return WallTime{whole * static_cast<std::int64_t>(ns)};
    return WallTime{std::llround(value * ns)};
  }
  return std::nullopt;
}

}  // namespace

std::optional<WallTime> parse_wall_time(std::string_view text, Duration utc_offset) {
  text = cell_text(text);
  if (const auto at = number(text)) return at;
  for (const auto form : {year_first, month_first, month_name})
    if (const auto at = form(text, utc_offset)) return at;
  return std::nullopt;
}

Result<Duration> parse_utc_offset(std::string_view text) {
  const auto refuse = [&] { return fail(ErrorCode::usage, "not an offset from UTC", std::string(text), "such as +01:00, -0530 or Z"); };
  if (text == "Z" || text == "z" || text == "UTC") return Duration{};
  Scanner scan(text);
  const bool west = text.starts_with('-');
  int hours = 0, minutes = 0;
  if (!scan.one_of("+-") || !scan.digits(1, 2, hours)) return refuse();
  const bool colon = scan.one_of(":");
  if ((colon || !scan.rest().empty()) && !scan.digits(2, 2, minutes)) return refuse();
  if (!scan.rest().empty() || hours > 14 || minutes > 59) return refuse();
  const Duration offset = nanoseconds((hours * 3600LL + minutes * 60LL) * 1'000'000'000LL);
  return west ? -offset : offset;
}

std::string offset_text(Duration utc_offset) {
  const std::int64_t minutes = utc_offset.base_units() / 60'000'000'000;
  if (minutes == 0) return "UTC";
  return fmt::format("UTC{}{:02}:{:02}", minutes < 0 ? '-' : '+', std::abs(minutes) / 60, std::abs(minutes) % 60);
}

}  // namespace joulery
