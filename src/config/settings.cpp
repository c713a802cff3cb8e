#include "config/settings.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "core/units.h"

namespace joulery {
namespace {

std::unexpected<Error> wrong(std::string_view key, std::string_view wanted, const Setting& setting) {
  return fail(ErrorCode::usage, fmt::format("'{}' must be {}", key, wanted), setting.origin.describe());
}

template <class T>
Result<std::optional<T>> exactly(const Settings& settings, std::string_view key, std::string_view wanted) {
  const Setting* setting = settings.find(key);
  if (!setting) return std::optional<T>();
  if (const T* value = std::get_if<T>(&setting->value)) return *value;
  return wrong(key, wanted, *setting);
}

}  // namespace

std::string Origin::describe() const { return line ? fmt::format("{}:{}", name, line) : name; }

void Settings::set(std::string key, Setting setting) { settings_.insert_or_assign(std::move(key), std::move(setting)); }

void Settings::remove(std::string_view key) {
  if (const auto found = settings_.find(key); found != settings_.end()) settings_.erase(found);
}

const Setting* Settings::find(std::string_view key) const {
  const auto found = settings_.find(key);
  return found == settings_.end() ? nullptr : &found->second;
}

std::vector<std::string> Settings::names_below(std::string_view prefix) const {
  std::set<std::string> names;
  const std::string start = std::string(prefix) + ".";
  for (auto at = settings_.lower_bound(start); at != settings_.end() && at->first.starts_with(start); ++at) {
    const std::string_view rest = std::string_view(at->first).substr(start.size());
    names.emplace(rest.substr(0, rest.find('.')));
  }
  return {names.begin(), names.end()};
}

Result<std::optional<std::string>> Settings::text(std::string_view key) const { return exactly<std::string>(*this, key, "a text"); }

Result<std::optional<bool>> Settings::flag(std::string_view key) const { return exactly<bool>(*this, key, "true or false"); }

Result<std::optional<std::vector<std::string>>> Settings::texts(std::string_view key) const {
  const Setting* setting = find(key);
  if (setting) {
    if (const auto* one = std::get_if<std::string>(&setting->value)) return std::vector<std::string>{*one};
  }
  return exactly<std::vector<std::string>>(*this, key, "a list of texts");
}

Result<std::optional<std::int64_t>> Settings::whole(std::string_view key, std::int64_t least, std::int64_t most) const {
  const std::string wanted = fmt::format("a whole number from {} to {}", least, most);
  auto value = exactly<std::int64_t>(*this, key, wanted);
  if (value && *value && (**value < least || **value > most)) return wrong(key, wanted, *find(key));
  return value;
}

Result<std::optional<double>> Settings::number(std::string_view key) const {
  const Setting* setting = find(key);
  if (setting) {
    if (const auto* whole = std::get_if<std::int64_t>(&setting->value)) return static_cast<double>(*whole);
  }
  return exactly<double>(*this, key, "a number");
}

Result<std::optional<Duration>> Settings::duration(std::string_view key) const {
  const auto value = text(key);
  const Setting* setting = find(key);
  if (!setting) return std::optional<Duration>();
  if (!value) return wrong(key, "a time with its unit, such as \"5s\"", *setting);
  auto parsed = parse_duration(**value);
  if (!parsed) return wrong(key, "a time with its unit, such as \"5s\"", *setting);
  return *parsed;
}

}  // namespace joulery
