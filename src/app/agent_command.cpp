// `joulery agent` is a program of its own, for what a server needs would make every other command start more slowly.
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <vector>

#include "app/command.h"
#include "app/command_line.h"

namespace joulery {
namespace {

// Beside this program, or below lib/ of the same tree, as packages lay it.
std::vector<std::string> places() {
  std::error_code failed;
  const auto here = std::filesystem::read_symlink("/proc/self/exe", failed).parent_path();
  return {(here / "joulery-agent").string(), (here.parent_path() / "lib/joulery/joulery-agent").string()};
}

}  // namespace

int agent_command(std::vector<std::string> arguments) {
  for (const std::string& path : places()) {
    std::vector<char*> words{const_cast<char*>("joulery-agent")};
    for (std::string& argument : arguments) words.push_back(argument.data());
    words.push_back(nullptr);
    ::execv(path.c_str(), words.data());
    if (errno != ENOENT) return complain("agent", error_from_errno(errno, "cannot start the agent", path), 1);
  }
  const Error error{ErrorCode::not_found, "the agent is not installed", places().front(),
                    "it comes with the .deb and the wheel of joulery"};
  return complain("agent", error, 1);
}

}  // namespace joulery
