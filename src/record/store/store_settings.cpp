#include "record/store/store_settings.h"

#include <fmt/format.h>

#include "core/units.h"

namespace joulery {
namespace {

constexpr const char *seconds_key = "agent.store.keep_seconds", *minutes_key = "agent.store.keep_minutes",
                     *hours_key = "agent.store.keep_hours";
const Duration longest = seconds(100 * 365.25 * 86'400);  // room for sums of such times

std::unexpected<Error> wrong(const Settings& settings, const char* key, std::string what, std::string hint = {}) {
  const Setting* setting = settings.find(key);
  return fail(ErrorCode::usage, std::move(what), setting ? setting->origin.describe() : key, std::move(hint));
}

Result<void> read_time(const Settings& settings, const char* key, Duration& keep) {
  const auto given = settings.duration(key);
  if (!given) return std::unexpected(given.error());
  keep = given->value_or(keep);
  if (keep < Duration{} || keep > longest) return wrong(settings, key, fmt::format("'{}' must be from 0 s to 100 years", key));
  return {};
}

}  // namespace

Result<StoreSettings> read_store_settings(const Settings& settings) {
  StoreSettings read;
  if (auto done = read_time(settings, seconds_key, read.keep_raw); !done) return std::unexpected(done.error());
  if (auto done = read_time(settings, minutes_key, read.keep_minutes); !done) return std::unexpected(done.error());
  const auto hours = settings.text(hours_key);
  if (!hours) return std::unexpected(hours.error());
  if (*hours && **hours != "for ever") {
    const auto keep = parse_duration(**hours);
    if (!keep || *keep < Duration{} || *keep > longest)
      return wrong(settings, hours_key, fmt::format("'{}' must be a time with its unit, or \"for ever\"", hours_key), "\"400d\"");
    read.keep_hours = *keep;
  }
  if (read.keep_raw > read.keep_minutes)
    return wrong(settings, settings.find(minutes_key) ? minutes_key : seconds_key, "seconds cannot be kept longer than minutes",
                 fmt::format("raise {}", minutes_key));
  if (read.keep_hours && *read.keep_hours < read.keep_minutes)
    return wrong(settings, hours_key, "minutes cannot be kept longer than hours", fmt::format("lower {}", minutes_key));
  return read;
}

}  // namespace joulery
