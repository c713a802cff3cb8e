// `joulery config show [--origin] [--json]`: what is configured, merged from all layers, and where each value was set.
// `joulery config keys [--json]`: every key that there is. Secrets are in neither: the settings hold none.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/command.h"
#include "app/command_line.h"
#include "config/known_keys.h"
#include "core/units.h"

namespace joulery {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const SettingValue& value) {
  return std::visit([](const auto& held) { return Json(held); }, value);
}

// As it would stand in the file; a text that is not UTF-8 is shown with marks for what is wrong.
std::string toml_of(const SettingValue& value) { return json_of(value).dump(-1, ' ', false, Json::error_handler_t::replace); }

// The whole keys of a pattern: a '*' becomes each name that is configured there.
std::vector<std::string> keys_of(std::string_view pattern, const Settings& settings) {
  const auto star = pattern.find(".*.");
  if (star == std::string_view::npos) return {std::string(pattern)};
  std::vector<std::string> keys;
  for (const std::string& name : settings.names_below(pattern.substr(0, star)))
    keys.push_back(fmt::format("{}.{}{}", pattern.substr(0, star), name, pattern.substr(star + 2)));
  return keys;
}

// One line of `config show`; a default's origin says so.
struct Line {
  std::string key, value, origin;
  Json json;
};

Line line_of(const std::string& key, const Setting& setting) {
  Json json{{"key", key}, {"value", json_of(setting.value)}, {"origin", {{"name", setting.origin.name}}}};
  json["origin"]["line"] = setting.origin.line ? Json(setting.origin.line) : Json();
  return {key, toml_of(setting.value), setting.origin.describe(), std::move(json)};
}

Line default_of(const std::string& key, const KnownKey& known) {
  const auto value = value_from_text(known, key, known.fallback, {"default", 0});
  return line_of(key, {value ? *value : SettingValue(std::string(known.fallback)), {"default", 0}});
}

std::vector<Line> lines_of(const Settings& settings) {
  std::vector<Line> lines;
  for (const auto& [key, setting] : settings.all()) lines.push_back(line_of(key, setting));
  for (const KnownKey& known : known_keys()) {
    if (known.fallback.empty()) continue;
    for (const std::string& key : keys_of(known.pattern, settings))
      if (!settings.find(key)) lines.push_back(default_of(key, known));
  }
  std::ranges::sort(lines, {}, &Line::key);
  return lines;
}

std::string dumped(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

int show(const Settings& settings, bool json, bool origin) {
  const std::vector<Line> lines = lines_of(settings);
  std::string text;
  if (json) {
    Json all{{"schema", "joulery.config/1"}, {"settings", Json::array()}};
    for (const Line& line : lines) all["settings"].push_back(line.json);
    text = dumped(all);
  }
  for (const Line& line : lines) {
    if (json) break;
    const bool set = line.origin != "default";
    if (!set && !origin) continue;
    const std::string left = fmt::format("{} = {}", line.key, line.value);
    text += origin ? fmt::format("{:<56}  # {}\n", left, line.origin) : left + "\n";
  }
  return put(stdout, text) ? 0 : 1;
}

int list_keys(bool json) {
  Json all{{"schema", "joulery.config-keys/1"}, {"keys", Json::array()}};
  std::string text;
  for (const KnownKey& known : known_keys()) {
    all["keys"].push_back({{"key", known.pattern}, {"type", name_of(known.type)}, {"default", known.fallback}, {"meaning", known.meaning}});
    const std::string choices = known.choices.empty() ? "" : fmt::format(" ({})", known.choices);
    const std::string fallback = known.fallback.empty() ? "" : fmt::format(" [{}]", known.fallback);
    text += fmt::format("{:<24} {:<15} {}{}{}\n", known.pattern, name_of(known.type), known.meaning, choices, fallback);
  }
  return put(stdout, json ? dumped(all) : text) ? 0 : 1;
}

}  // namespace

int config_command(std::vector<std::string> arguments) {
  CLI::App app(
      "Shows what is configured. Later layers win: /etc/joulery/joulery.toml, ~/.config/joulery/joulery.toml,\n./joulery.toml, "
      "environment (JOULERY_CARBON_PLACE is carbon.place), flags.",
      "joulery config");
  app.require_subcommand(1);
  bool json = false, origin = false;
  std::vector<std::string> sets;
  CLI::App* shown = app.add_subcommand("show", "what is configured");
  shown->add_flag("--origin", origin, "where each value was set, defaults too");
  shown->add_flag("--json", json, "as JSON, schema joulery.config/1");
  add_set_option(*shown, sets);
  CLI::App* keys = app.add_subcommand("keys", "every key: type, meaning, default");
  keys->add_flag("--json", json, "as JSON, schema joulery.config-keys/1");
  if (const auto code = parse(app, std::move(arguments))) return *code;
  if (*keys) return list_keys(json);
  const auto settings = settings_with({}, sets);
  if (!settings) return complain("config", settings.error(), exit_usage);
  return show(*settings, json, origin);
}

}  // namespace joulery
