#include "config/environment_layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "config/known_keys.h"

namespace joulery {
namespace {

constexpr std::string_view prefix = "JOULERY_";

// "carbon.g_per_kwh" -> "CARBON_G_PER_KWH", "rack-pdu" -> "RACK_PDU".
std::string in_capitals(std::string_view text) {
  std::string capitals;
  for (const char c : text) capitals += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c == '.' || c == '-' ? '_' : c;
  return capitals;
}

// A name that a file gave and that looks so in capitals, else the name that the capitals suggest.
std::string name_for(std::string_view capitals, std::string_view section, const Settings& settings) {
  for (const std::string& name : settings.names_below(section))
    if (in_capitals(name) == capitals) return name;
  std::string name;
  for (const char c : capitals) name += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c == '_' ? '-' : c;
  return name;
}

// The key that `word` (a variable without JOULERY_) stands for by this row.
std::optional<std::string> key_by(std::string_view pattern, std::string_view word, const Settings& settings) {
  const auto star = pattern.find(".*.");
  if (star == std::string_view::npos) return in_capitals(pattern) == word ? std::optional(std::string(pattern)) : std::nullopt;
  const std::string before = in_capitals(pattern.substr(0, star)) + "_", after = "_" + in_capitals(pattern.substr(star + 3));
  if (!word.starts_with(before) || !word.ends_with(after) || word.size() <= before.size() + after.size()) return std::nullopt;
  const std::string name =
      name_for(word.substr(before.size(), word.size() - before.size() - after.size()), pattern.substr(0, star), settings);
  if (!is_valid_name(name)) return std::nullopt;
  return std::string(pattern.substr(0, star + 1)) + name + std::string(pattern.substr(star + 2));
}

// The longest key that fits: ..._MAX_AGE is max_age, not a meter whose name ends in "-max".
std::optional<std::string> key_of(std::string_view word, const Settings& settings) {
  std::optional<std::string> best;
  std::size_t length = 0;
  for (const KnownKey& known : known_keys()) {
    auto key = key_by(known.pattern, word, settings);
    if (!key || known.pattern.size() <= length) continue;
    best = std::move(key);
    length = known.pattern.size();
  }
  return best;
}

bool names_a_section(std::string_view word) {
  return std::ranges::any_of(known_keys(), [&](const KnownKey& known) {
    return word.starts_with(in_capitals(known.pattern.substr(0, known.pattern.find('.'))) + "_");
  });
}

// The key that a misspelt word most likely was, with '.' for every '_' so that near names are looked for at its end.
Error misspelt(std::string_view word, const std::string& variable) {
  std::string key(word);
  std::ranges::transform(key, key.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  const std::size_t first = key.find('_');
  key[first] = '.';
  if (key.starts_with("meters."))
    if (const std::size_t second = key.find('_', first + 1); second != std::string::npos) key[second] = '.';
  return unknown_key_error(key, {variable, 0});
}

}  // namespace

Result<void> add_environment(std::span<const std::pair<std::string, std::string>> variables, const Settings& files, Settings& layer) {
  for (const auto& [variable, text] : variables) {
    if (!variable.starts_with(prefix)) continue;
    const std::string_view word = std::string_view(variable).substr(prefix.size());
    const auto key = key_of(word, files);
    if (!key && !names_a_section(word)) continue;
    if (!key) return std::unexpected(misspelt(word, variable));
    const Origin origin{variable, 0};
    auto value = value_from_text(*find_known_key(*key), *key, text, origin);
    if (!value) return std::unexpected(value.error());
    layer.set(*key, {*std::move(value), origin});
  }
  return {};
}

}  // namespace joulery
