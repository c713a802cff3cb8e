#include "watch/tag_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace joulery {
namespace {

// A label's name, so that a tag can be asked for and sent on: letters, digits and '_', no digit at the front.
bool is_tag_name(std::string_view name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && name.size() <= 64 && letter(name.front()) &&
         std::ranges::all_of(name, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

Error wrong(const Settings& settings, const std::string& section, std::string_view key, std::string what, std::string hint) {
  const Setting* setting = settings.find(section + std::string(key));
  return {ErrorCode::usage, std::move(what), setting ? setting->origin.describe() : section, std::move(hint)};
}

Result<TagRule> read_rule(const Settings& settings, const std::string& name) {
  const std::string section = "tags." + name;
  TagRule rule;
  std::string tag = name, value;
  for (const auto& [key, into] : {std::pair<const char*, std::string*>{".tag", &tag},
                                  {".value", &value},
                                  {".env", &rule.variable},
                                  {".user", &rule.user},
                                  {".unit", &rule.unit},
                                  {".process", &rule.name},
                                  {".cgroup", &rule.cgroup}}) {
    auto text = settings.text(section + key);
    if (!text) return std::unexpected(text.error());
    if (*text) *into = **std::move(text);
  }
  if (!is_tag_name(tag))
    return std::unexpected(wrong(settings, section, ".tag", fmt::format("'{}' is no name of a tag", tag), "letters, digits and '_'"));
  if (is_fact(tag))
    return std::unexpected(wrong(settings, section, ".tag", fmt::format("'{}' is what is known of each process, not a tag", tag), ""));
  if (value.empty() == rule.variable.empty())
    return std::unexpected(wrong(settings, section, value.empty() ? "" : ".env", fmt::format("'{}' gives no tag, or two", section),
                                 fmt::format("set either {0}.value or {0}.env", section)));
  rule.tags[tag] = value;
  return rule;
}

}  // namespace

Result<std::vector<TagRule>> read_tag_rules(const Settings& settings) {
  std::vector<TagRule> rules;
  for (const std::string& name : settings.names_below("tags")) {
    auto rule = read_rule(settings, name);
    if (!rule) return std::unexpected(rule.error());
    rules.push_back(*std::move(rule));
  }
  return rules;
}

}  // namespace joulery
