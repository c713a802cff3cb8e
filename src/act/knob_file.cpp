#include "act/knob_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "sense/parse_number.h"

namespace joulery {
namespace {

constexpr const char* as_root =
    "sudo joulery run --power-limit ... -- CMD  # as root\n"
    "joulery config show agent.meters.control_power  # or let an agent do it for those whom this names (joulery-agent(1))";

bool is_plain(int descriptor) {
  struct statfs where{};
  return ::fstatfs(descriptor, &where) == 0 && where.f_type != SYSFS_MAGIC;
}

}  // namespace

Error nobody_is_named() {
  return {ErrorCode::permission, "agent.meters.control_power lets nobody set power limits through this agent", "",
          "sudoedit /etc/joulery/joulery.toml  # below [agent.meters]: control_power = [\"root\"]\nsudo systemctl restart joulery-agent"};
}

KnobFile::KnobFile(std::string path, Access access) : path_(std::move(path)) {
  if (access == Access::write) {
    descriptor_ = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
    writable_ = descriptor_ >= 0;
    if (!writable_) why_not_ = errno;
  }
  if (descriptor_ < 0) descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) unreadable_ = errno;
  plain_ = descriptor_ >= 0 && is_plain(descriptor_);
}

KnobFile::KnobFile(KnobFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      writable_(other.writable_),
      why_not_(other.why_not_),
      unreadable_(other.unreadable_),
      plain_(other.plain_) {}

KnobFile::~KnobFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<std::int64_t> KnobFile::read() const {
  if (descriptor_ < 0) return std::unexpected(error_from_errno(unreadable_, "cannot read a power limit", path_));
  char text[64];
  const ssize_t size = ::pread(descriptor_, text, sizeof text, 0);
  if (size < 0) return std::unexpected(error_from_errno(errno, "cannot read a power limit", path_));
  const auto value = parse_whole<std::int64_t>({text, static_cast<std::size_t>(size)});
  if (!value || *value < 0) return fail(ErrorCode::format, "a power limit is no whole number", path_);
  return *value;
}

Result<void> KnobFile::write(std::int64_t value) const {
  if (auto why = obstacle()) return std::unexpected(*std::move(why));
  const std::string text = std::to_string(value) + "\n";
  const ssize_t size = ::pwrite(descriptor_, text.data(), text.size(), 0);
  if (size == static_cast<ssize_t>(text.size())) {
    if (plain_) (void)::ftruncate(descriptor_, size);
    return {};
  }
  const int number = size < 0 ? errno : EIO;
  // The file was opened for writing: who refuses now is the driver.
  if (number == EACCES || number == EPERM)
    return fail(ErrorCode::permission, "the firmware of this machine has locked this power limit", path_, "its setup may unlock it");
  if (number == EINVAL || number == ERANGE)
    return fail(ErrorCode::usage, "the hardware does not take this power limit", path_, "joulery power lists what it takes");
  return std::unexpected(error_from_errno(number, "cannot set a power limit", path_));
}

std::optional<Error> KnobFile::obstacle() const {
  if (writable_) return std::nullopt;
  if (why_not_ == 0) return nobody_is_named();
  if (why_not_ == EROFS)
    return Error{ErrorCode::permission, "/sys is read-only here, as in a container", path_,
                 "joulery run on the host, or an agent there that gives its socket to the container"};
  if (why_not_ == EACCES || why_not_ == EPERM) return Error{ErrorCode::permission, "root alone may set it", path_, as_root};
  return error_from_errno(why_not_, "cannot be opened to be set", path_);
}

}  // namespace joulery
