#include "config/load.h"

#include <unistd.h>

#include <cstdlib>

#include "config/environment_layer.h"
#include "config/known_keys.h"
#include "config/toml_layer.h"

namespace joulery {
namespace {

std::string user_file_path() {
  const char* set = std::getenv("XDG_CONFIG_HOME");
  if (set && *set == '/') return std::string(set) + "/joulery/joulery.toml";
  const char* home = std::getenv("HOME");
  return home && *home == '/' ? std::string(home) + "/.config/joulery/joulery.toml" : std::string();
}

Result<void> add_flag(const ConfigFlag& flag, Settings& settings) {
  const Origin origin{flag.flag, 0};
  const KnownKey* known = find_known_key(flag.key);
  if (!known) return std::unexpected(unknown_key_error(flag.key, origin));
  auto value = value_from_text(*known, flag.key, flag.value, origin);
  if (!value) return std::unexpected(value.error());
  settings.set(flag.key, {*std::move(value), origin});
  return {};
}

// The keys of earlier layers that a key takes the place of, besides itself: another way to say the same.
std::string displaced_by(const std::string& key) {
  if (key == "carbon.place") return "carbon.g_per_kwh";
  if (key.ends_with("_file")) return key.substr(0, key.size() - 5) + "_env";
  if (key.ends_with("_env")) return key.substr(0, key.size() - 4) + "_file";
  return {};
}

void lay(const Settings& layer, Settings& over) {
  for (const auto& [key, setting] : layer.all()) over.remove(displaced_by(key));
  for (const auto& [key, setting] : layer.all()) over.set(key, setting);
}

}  // namespace

ConfigSources ConfigSources::of_this_process() {
  ConfigSources sources;
  sources.user_file = user_file_path();
  for (char** entry = ::environ; entry && *entry; ++entry) {
    const std::string_view text = *entry;
    const auto equals = text.find('=');
    if (equals != std::string_view::npos && text.starts_with("JOULERY_"))
      sources.environment.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return sources;
}

Result<ConfigFlag> parse_set_flag(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    return fail(ErrorCode::usage, "a setting is written KEY=VALUE", "--set",
                "such as --set carbon.place=FR; joulery config keys lists the keys");
  return ConfigFlag{"--set", text.substr(0, equals), text.substr(equals + 1)};
}

Result<Settings> load_settings(const ConfigSources& sources, const std::vector<ConfigFlag>& flags) {
  Settings settings, system, user, local, environment, given;
  if (const auto added = add_toml_file(sources.system_file, system); !added) return std::unexpected(added.error());
  lay(system, settings);
  if (!sources.user_file.empty())
    if (const auto added = add_toml_file(sources.user_file, user); !added) return std::unexpected(added.error());
  lay(user, settings);
  if (const auto added = add_local_toml_file(sources.local_file, local); !added) return std::unexpected(added.error());
  lay(local, settings);
  if (const auto added = add_environment(sources.environment, settings, environment); !added) return std::unexpected(added.error());
  lay(environment, settings);
  for (const ConfigFlag& flag : flags)
    if (const auto added = add_flag(flag, given); !added) return std::unexpected(added.error());
  lay(given, settings);
  return settings;
}

}  // namespace joulery
