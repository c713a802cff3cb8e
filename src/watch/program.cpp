#include "watch/program.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <optional>

namespace joulery {
namespace {

constexpr std::string_view cannot_start = "cannot start the command";

// Why `path` cannot be executed; nothing where it can.
std::optional<Error> obstacle(const std::string& path) {
  struct stat info{};
  if (stat(path.c_str(), &info) != 0) return error_from_errno(errno, std::string(cannot_start), path);
  if (S_ISDIR(info.st_mode)) return Error{ErrorCode::permission, "cannot start the command: it is a directory", path, ""};
  if (faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) != 0)
    return error_from_errno(errno, std::string(cannot_start), path, "chmod +x makes a file executable");
  return std::nullopt;
}

}  // namespace

Result<std::string> find_program(std::string_view name, std::string_view search_path) {
  if (name.find('/') != std::string_view::npos) {
    std::string path(name);
    if (auto error = obstacle(path)) return std::unexpected(std::move(*error));
    return path;
  }
  std::optional<Error> refusal;  // the first file of that name which may not be executed
  for (std::size_t at = 0; !name.empty() && at <= search_path.size();) {
    const std::size_t end = std::min(search_path.find(':', at), search_path.size());
    const std::string_view folder = search_path.substr(at, end - at);
    std::string path = std::string(folder.empty() ? "." : folder) + "/" + std::string(name);
    auto error = obstacle(path);
    if (!error) return path;
    struct stat info{};
    if (!refusal && error->code == ErrorCode::permission && stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode)) refusal = error;
    at = end + 1;
  }
  if (refusal) return std::unexpected(std::move(*refusal));
  return fail(ErrorCode::not_found, "command not found", name.empty() ? "''" : std::string(name),
              "is it installed, and its folder in PATH?");
}

std::string search_path_of_environment() {
  if (const char* path = std::getenv("PATH")) return path;
  std::string path(confstr(_CS_PATH, nullptr, 0), '\0');
  confstr(_CS_PATH, path.data(), path.size());
  if (!path.empty()) path.pop_back();  // the terminating zero
  return path;
}

int exit_code_of_start_failure(const Error& error) {
  if (error.code == ErrorCode::not_found) return 127;
  if (error.code == ErrorCode::permission || error.code == ErrorCode::format) return 126;
  return 125;
}

}  // namespace joulery
