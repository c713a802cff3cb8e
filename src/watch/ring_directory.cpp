#include "watch/ring_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <utility>
#include <vector>

#include "watch/energy_page.h"
#include "watch/mark_ring.h"

namespace joulery {
namespace {

constexpr const char* prefix = "joulery-";
constexpr std::time_t young_s = 60;  // a directory this young may be between its making and its lock

int open_directory(const std::string& path) { return open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW); }

std::vector<std::string> entries_of(const std::string& path) {
  std::vector<std::string> names;
  std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(path.c_str()), closedir);
  if (!directory) return names;
  while (const dirent* entry = readdir(directory.get()))
    if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0) names.emplace_back(entry->d_name);
  return names;
}

bool is_ours(const std::string& name) { return name.ends_with(ring_suffix) || name.ends_with(failed_suffix) || name == energy_page_name; }

// Removes the ring files and then the directory; anything else in it is not ours and stays, with its directory.
void remove_rings(const std::string& path, int directory) {
  for (const std::string& name : entries_of(path))
    if (is_ours(name)) unlinkat(directory, name.c_str(), 0);
  rmdir(path.c_str());
}

bool abandoned(int directory) {
  struct stat about{};
  if (fstat(directory, &about) != 0 || about.st_uid != geteuid()) return false;
  return std::time(nullptr) - about.st_ctime > young_s && flock(directory, LOCK_EX | LOCK_NB) == 0;
}

void clear_abandoned(const std::string& parent) {
  for (const std::string& name : entries_of(parent)) {
    if (!name.starts_with(prefix)) continue;
    const std::string path = parent + "/" + name;
    const int directory = open_directory(path);
    if (directory < 0) continue;
    if (abandoned(directory)) remove_rings(path, directory);
    close(directory);
  }
}

}  // namespace

Result<RingDirectory> RingDirectory::make_in(const std::string& parent) {
  clear_abandoned(parent);
  std::string path = parent + "/" + prefix + "XXXXXX";
  if (mkdtemp(path.data()) == nullptr)  // mode 0700
    return std::unexpected(
        error_from_errno(errno, "cannot make a directory for marks", parent, "set TMPDIR to a folder that can be written"));
  const int lock = open_directory(path);
  if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) != 0) {
    const int number = errno;
    if (lock >= 0) close(lock);
    rmdir(path.c_str());
    return std::unexpected(error_from_errno(number, "cannot lock the directory for marks", path));
  }
  return RingDirectory(std::move(path), lock);
}

Result<RingDirectory> RingDirectory::make() {
  Result<RingDirectory> made = make_in("/dev/shm");
  if (made) return made;
  const char* temporary = std::getenv("TMPDIR");
  return make_in(temporary != nullptr && temporary[0] == '/' ? temporary : "/tmp");
}

RingDirectory::RingDirectory(RingDirectory&& other) noexcept
    : path_(std::exchange(other.path_, {})), lock_(std::exchange(other.lock_, -1)) {}

RingDirectory& RingDirectory::operator=(RingDirectory&& other) noexcept {
  if (this == &other) return *this;
  remove();
  path_ = std::exchange(other.path_, {});
  lock_ = std::exchange(other.lock_, -1);
  return *this;
}

RingDirectory::~RingDirectory() { remove(); }

void RingDirectory::remove() {
  if (lock_ < 0) return;
  remove_rings(path_, lock_);
  close(lock_);
  lock_ = -1;
}

std::string RingDirectory::environment() const { return std::string(ring_environment_variable) + "=" + path_; }

}  // namespace joulery
