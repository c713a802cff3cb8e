#include "app/user_folders.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

namespace joulery {
namespace {

std::string folder(const char* variable, const char* below_home) {
  if (const char* set = std::getenv(variable); set && *set == '/') return std::string(set) + "/joulery";
  const char* home = std::getenv("HOME");
  return std::string(home && *home ? home : "/tmp") + below_home + "/joulery";
}

const std::string machine_store = "/var/lib/joulery/store";

}  // namespace

std::string user_data_folder() { return folder("XDG_DATA_HOME", "/.local/share"); }
std::string user_config_folder() { return folder("XDG_CONFIG_HOME", "/.config"); }
std::string user_state_folder() { return folder("XDG_STATE_HOME", "/.local/state"); }
std::string wall_model_file() { return user_config_folder() + "/wall_model.toml"; }
std::string calibration_file() { return user_config_folder() + "/calibration.toml"; }

std::string default_store_folder() {
  std::error_code ignored;
  return std::filesystem::exists(machine_store, ignored) ? machine_store : user_data_folder() + "/store";
}

Result<std::string> make_store_folder() {
  std::string folder = ::geteuid() == 0 ? machine_store : user_data_folder() + "/store";
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) return std::unexpected(error_from_errno(failed.value(), "cannot make the folder of the history", folder, "--store DIR"));
  return folder;
}

Result<std::string> make_passing_folder() {
  std::error_code failed;
  const auto folder = std::filesystem::temp_directory_path(failed);
  if (failed) return fail(ErrorCode::not_found, "no folder for temporary files", "", "set TMPDIR");
  std::string name = (folder / "joulery-XXXXXX").string();
  if (!::mkdtemp(name.data())) return std::unexpected(error_from_errno(errno, "cannot make a temporary folder", name, "set TMPDIR"));
  return name;
}

}  // namespace joulery
