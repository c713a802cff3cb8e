#include "app/time_words.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <optional>

#include "core/units.h"

namespace joulery {
namespace {

constexpr std::int64_t second_ns = 1'000'000'000;

// The seconds east of UTC, "" for none; empty where it is no zone.
struct Zone {
  bool local = false;
  int seconds = 0;
};
std::optional<Zone> parse_zone(std::string_view text) {
  if (text.empty()) return Zone{true, 0};
  if (text == "Z" || text == "z") return Zone{};
  int hours = 0, minutes = 0, end = 0;
  const std::string word(text.substr(1));
  const bool with_colon = std::sscanf(word.c_str(), "%2d:%2d%n", &hours, &minutes, &end) == 2 && word.size() == 5;
  const bool without = !with_colon && std::sscanf(word.c_str(), "%2d%2d%n", &hours, &minutes, &end) == 2 && word.size() == 4;
  if ((text[0] != '+' && text[0] != '-') || (!with_colon && !without)) return std::nullopt;
  if (static_cast<std::size_t>(end) != word.size() || hours > 14 || minutes > 59 || hours < 0 || minutes < 0) return std::nullopt;
  return Zone{false, (text[0] == '-' ? -1 : 1) * (hours * 3600 + minutes * 60)};
}

struct Clock {
  int hour = 0, minute = 0;
  double second = 0;
};
// "12:00", "12:00:05", "12:00:05.25": how many letters it took; 0: none.
std::size_t take_clock(const char* text, Clock& clock) {
  int whole = 0, with_seconds = 0, without = 0;
  std::size_t length = 0;
  if (std::sscanf(text, "%2d:%2d:%2d%n", &clock.hour, &clock.minute, &whole, &with_seconds) == 3) {
    length = static_cast<std::size_t>(with_seconds);
    clock.second = whole;
    double unit = 0.1;
    if (text[length] == '.') {
      for (++length; text[length] >= '0' && text[length] <= '9'; ++length, unit *= 0.1) clock.second += (text[length] - '0') * unit;
    }
  } else if (std::sscanf(text, "%2d:%2d%n", &clock.hour, &clock.minute, &without) == 2) {
    length = static_cast<std::size_t>(without);
  }
  const bool sane = clock.hour >= 0 && clock.hour < 24 && clock.minute >= 0 && clock.minute < 60 && clock.second >= 0 && clock.second < 61;
  return sane ? length : 0;
}

std::optional<WallTime> parse_date(const std::string& text) {
  int year = 0, month = 0, day = 0, end = 0;
  if (std::sscanf(text.c_str(), "%4d-%2d-%2d%n", &year, &month, &day, &end) != 3 || end < 8) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  std::size_t at = static_cast<std::size_t>(end);
  Clock clock;
  if (at < text.size() && (text[at] == 'T' || text[at] == ' ' || text[at] == 't')) {
    const std::size_t length = take_clock(text.c_str() + at + 1, clock);
    if (length == 0) return std::nullopt;
    at += 1 + length;
  }
  const auto zone = parse_zone(std::string_view(text).substr(at));
  if (!zone) return std::nullopt;
  std::int64_t seconds = std::chrono::sys_days(date).time_since_epoch().count() * std::int64_t{86'400};
  seconds += clock.hour * 3600 + clock.minute * 60 - zone->seconds;
  if (zone->local) {
    std::tm local{};
    local.tm_year = year - 1900, local.tm_mon = month - 1, local.tm_mday = day;
    local.tm_hour = clock.hour, local.tm_min = clock.minute, local.tm_isdst = -1;
    seconds = std::mktime(&local);
  }
  return WallTime{seconds * second_ns + to_whole(clock.second * 1e3) * 1'000'000};
}

}  // namespace

Result<WallTime> parse_time(std::string_view text, std::string_view option, WallTime now) {
  const auto wrong = [&] {
    return fail(ErrorCode::usage, fmt::format("{} is not a time", option), std::string(text),
                "now, -1h, 2026-03-01, 2026-03-01T12:00:00Z or @SECONDS");
  };
  if (text == "now") return now;
  std::string_view back = text;
  if (back.starts_with("now")) back.remove_prefix(3);
  if (back.starts_with("-")) {
    const auto length = parse_duration(back.substr(1));
    return length ? Result<WallTime>(now - *length) : wrong();
  }
  if (text.starts_with("@")) {
    long long seconds = 0;
    int end = 0;
    const std::string number(text.substr(1));
    if (std::sscanf(number.c_str(), "%lld%n", &seconds, &end) != 1 || static_cast<std::size_t>(end) != number.size()) return wrong();
    if (seconds > 9'000'000'000 || seconds < -9'000'000'000) return wrong();
    return WallTime{seconds * second_ns};
  }
  const auto date = parse_date(std::string(text));
  return date ? Result<WallTime>(*date) : wrong();
}

std::string utc_text(WallTime at) {
  std::int64_t ms = at.ns / 1'000'000, seconds = ms / 1000;
  if (ms % 1000 < 0) --seconds;
  ms -= seconds * 1000;
  const auto time = static_cast<std::time_t>(seconds);
  std::tm utc{};
  ::gmtime_r(&time, &utc);
  std::string text = fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour,
                                 utc.tm_min, utc.tm_sec);
  if (ms != 0) text += fmt::format(".{:03}", ms);
  return text + "Z";
}

}  // namespace joulery
