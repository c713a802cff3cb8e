#include "sense/remote/keep_from_children.h"

#include <dirent.h>
#include <fcntl.h>

#include <algorithm>

#include "sense/parse_number.h"

namespace joulery {
namespace {

// Descriptors of this process that a program it starts would inherit.
std::vector<int> inheritable() {
  std::vector<int> all;
  DIR* folder = ::opendir("/proc/self/fd");
  if (!folder) return all;
  while (const dirent* entry = ::readdir(folder)) {
    const auto number = parse_whole<int>(entry->d_name);
    if (number && (::fcntl(*number, F_GETFD) & FD_CLOEXEC) == 0) all.push_back(*number);
  }
  ::closedir(folder);
  return all;
}

}  // namespace

KeepFromChildren::KeepFromChildren() : before_(inheritable()) {}

KeepFromChildren::~KeepFromChildren() {
  for (const int descriptor : inheritable())
    if (std::ranges::find(before_, descriptor) == before_.end()) ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
}

}  // namespace joulery
