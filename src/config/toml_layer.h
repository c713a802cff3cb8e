// A TOML file as one layer of the settings. Only known keys are taken (config/known_keys.h): a misspelt one is refused with
// the nearest name, for it would be a silent default. What another layer set stays where this one is silent.
#pragma once

#include <string>
#include <string_view>

#include "config/settings.h"
#include "core/result.h"

namespace joulery {

// `name` is what errors and origins call the text. Errors: format (with the line), usage. On an error `settings` may hold part
// of the layer.
Result<void> add_toml(std::string_view text, const std::string& name, Settings& settings);

// The same from a file of at most 1 MiB; one that does not exist adds nothing. Errors: those of add_toml, permission, io.
Result<void> add_toml_file(const std::string& path, Settings& settings);

// The same, from a file that lies in whatever folder the user stands in: refused (permission) where somebody else could have
// put it there, for settings say whom we talk to and which files hold secrets. Its owner must be the user, root, or who called
// sudo, and nobody else may be able to write it.
Result<void> add_local_toml_file(const std::string& path, Settings& settings);

}  // namespace joulery
