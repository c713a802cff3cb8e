// Where files of the user live, by the XDG base directory specification.
#pragma once

#include <string>

#include "core/result.h"

namespace joulery {

// $XDG_DATA_HOME/joulery, else ~/.local/share/joulery: recordings.
std::string user_data_folder();
// $XDG_CONFIG_HOME/joulery, else ~/.config/joulery: joulery.toml, calibration.toml, wall_model.toml.
std::string user_config_folder();
// $XDG_STATE_HOME/joulery, else ~/.local/state/joulery: what was learnt of this machine.
std::string user_state_folder();

// What a wall meter showed of this machine: written by joulery calibrate.
std::string calibration_file();
// What the wall delivers for what the parts take: written by joulery calibrate --wall.
std::string wall_model_file();

// Where an agent keeps its store: /var/lib/joulery/store where that exists, else the user's own data folder.
std::string default_store_folder();
// The same for the agent itself, which makes it: root's lies in /var/lib. Errors: permission, no_space.
Result<std::string> make_store_folder();

// Makes a folder that nobody else knows, below $TMPDIR or /tmp. Errors: not_found, permission, no_space.
Result<std::string> make_passing_folder();

}  // namespace joulery
