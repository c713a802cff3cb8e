// All layers of the settings in their order, each winning over those before it: the system's file, the user's file, the file
// in the current folder, the environment, flags. A later layer also takes away what says the same in another way: a place the
// earlier layers' carbon intensity, a secret's variable its file.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "config/settings.h"
#include "core/result.h"

namespace joulery {

struct ConfigSources {
  std::string system_file = "/etc/joulery/joulery.toml";
  std::string user_file;                     // "" where there is none
  std::string local_file = "joulery.toml";   // relative to the current folder
  std::vector<std::pair<std::string, std::string>> environment;

  // What this process sees: its environment, $XDG_CONFIG_HOME or ~/.config.
  static ConfigSources of_this_process();
};

// "KEY=VALUE" as a flag gives it; the value as in an environment variable.
struct ConfigFlag {
  std::string flag;  // "--set", "--place"
  std::string key, value;
};
// Errors: usage, where there is no '='.
Result<ConfigFlag> parse_set_flag(const std::string& text);

// Errors: those of each layer.
Result<Settings> load_settings(const ConfigSources& sources, const std::vector<ConfigFlag>& flags);

}  // namespace joulery
