#include "sense/live_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "sense/parse_number.h"

namespace joulery {
namespace {

constexpr Duration look_again_after = milliseconds(9);  // at 10 ms: a round may come a little early
constexpr Duration look_up_after = milliseconds(90);
// What changes is written to, so it is hardly the wrong file; looking its path up costs as much as reading it four times.
constexpr Duration look_up_living_after = milliseconds(900);

// The bare system call: in a program with threads the library's pread also arms and disarms cancellation, each time.
ssize_t read_at_start(int fd, std::span<char> buffer) {
  ssize_t count;
  do count = ::syscall(SYS_pread64, fd, buffer.data(), buffer.size(), off_t{0});
  while (count < 0 && errno == EINTR);
  return count;
}

}  // namespace

MissingReason reason_from_errno(int number) {
  switch (number) {
    case ENOENT:
    case ENODEV:
    case ENXIO:
    case ENOTDIR: return MissingReason::gone;
    case EACCES:
    case EPERM: return MissingReason::permission;
    case EOPNOTSUPP: return MissingReason::not_supported;
    case ETIMEDOUT:
    case EAGAIN: return MissingReason::timed_out;
    default: return MissingReason::io_error;
  }
}

LiveFile::LiveFile(LiveFile&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      can_be_replaced_(other.can_be_replaced_),
      device_(other.device_),
      inode_(other.inode_),
      checked_(other.checked_),
      looked_up_(other.looked_up_),
      changed_(other.changed_),
      last_count_(other.last_count_) {}

LiveFile::~LiveFile() { close_file(); }

void LiveFile::close_file() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

// Opens the path afresh; 0 or errno.
int LiveFile::open_file(MonoTime now) {
  close_file();
  constexpr int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;  // a FIFO must not hold up the round
  fd_ = ::open(path_.c_str(), flags | O_NOATIME);           // looking must not write to a disk; only the owner may ask for it
  if (fd_ < 0 && errno == EPERM) fd_ = ::open(path_.c_str(), flags);
  if (fd_ < 0) return errno;
  struct statfs system{};
  can_be_replaced_ = ::fstatfs(fd_, &system) != 0 || system.f_type != SYSFS_MAGIC;
  struct stat status{};
  if (::fstat(fd_, &status) == 0) {
    device_ = status.st_dev;
    inode_ = status.st_ino;
  }
  checked_ = looked_up_ = now;
  return 0;
}

// True where the path no longer leads to the file that is open.
bool LiveFile::is_stale(MonoTime now) {
  if (!can_be_replaced_) return false;
  struct stat status{};
  if (now - looked_up_ >= (now - changed_ < look_up_after ? look_up_living_after : look_up_after)) {
    checked_ = looked_up_ = now;
    return ::stat(path_.c_str(), &status) != 0 || status.st_dev != device_ || status.st_ino != inode_;
  }
  if (now - checked_ < look_again_after) return false;
  checked_ = now;
  return ::fstat(fd_, &status) != 0 || status.st_nlink == 0;
}

std::expected<std::string_view, MissingReason> LiveFile::read(std::span<char> buffer, MonoTime now) {
  if (fd_ >= 0 && !is_stale(now)) {
    const ssize_t count = read_at_start(fd_, buffer);
    if (count >= 0) return std::string_view(buffer.data(), static_cast<std::size_t>(count));
  }
  if (const int error = open_file(now); error != 0) return std::unexpected(reason_from_errno(error));
  const ssize_t count = read_at_start(fd_, buffer);
  if (count >= 0) return std::string_view(buffer.data(), static_cast<std::size_t>(count));
  const int error = errno;
  close_file();
  return std::unexpected(reason_from_errno(error));
}

std::expected<std::int64_t, MissingReason> LiveFile::read_count(MonoTime now) {
  std::array<char, 32> buffer;
  const auto text = read(buffer, now);
  if (!text) return std::unexpected(text.error());
  const auto value = parse_whole<std::uint64_t>(*text);
  if (!value) return std::unexpected(MissingReason::rubbish);
  if (*value != last_count_) changed_ = checked_ = now;
  last_count_ = *value;
  return static_cast<std::int64_t>(*value);
}

}  // namespace joulery
