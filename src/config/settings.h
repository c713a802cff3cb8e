// Everything a user may configure, merged from its layers (system file, user's file, ./joulery.toml, environment, flags),
// and for each value where it was set. A later layer replaces an earlier one key by key. Keys are dotted paths as in TOML:
// "carbon.place", "meters.rack-pdu.host".
//
// Invariant: secrets are never in here. A setting may name the file or the environment variable that holds one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/quantity.h"
#include "core/result.h"

namespace joulery {

// Where a value was set: a file and its line, an environment variable, an option.
struct Origin {
  std::string name;      // "/etc/joulery/joulery.toml", "JOULERY_CARBON_PLACE", "--place"
  std::size_t line = 0;  // 0 where it is no file
  std::string describe() const;  // "/etc/joulery/joulery.toml:12"
};

using SettingValue = std::variant<bool, std::int64_t, double, std::string, std::vector<std::string>>;

struct Setting {
  SettingValue value;
  Origin origin;
};

class Settings {
 public:
  void set(std::string key, Setting setting);  // replaces what an earlier layer said
  void remove(std::string_view key);
  const Setting* find(std::string_view key) const;
  // The next parts of the keys below a prefix, sorted: "meters" -> {"bmc", "rack-pdu"}.
  std::vector<std::string> names_below(std::string_view prefix) const;
  const std::map<std::string, Setting, std::less<>>& all() const { return settings_; }

  // Typed reads: nothing where the key is absent. Errors: usage, naming the key and its origin, where the value is of another
  // type or out of range.
  Result<std::optional<std::string>> text(std::string_view key) const;
  Result<std::optional<std::vector<std::string>>> texts(std::string_view key) const;  // one text counts as a list of one
  Result<std::optional<bool>> flag(std::string_view key) const;
  Result<std::optional<std::int64_t>> whole(std::string_view key, std::int64_t least, std::int64_t most) const;
  Result<std::optional<double>> number(std::string_view key) const;      // a whole number too
  Result<std::optional<Duration>> duration(std::string_view key) const;  // a text with a unit: "5s", "250ms"

 private:
  std::map<std::string, Setting, std::less<>> settings_;
};

}  // namespace joulery
