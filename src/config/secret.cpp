#include "config/secret.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

namespace joulery {
namespace {

constexpr std::size_t most_bytes = 4096;

std::string path_of(const std::string& written, const Origin& origin) {
  if (written.starts_with("~/")) {
    const char* home = std::getenv("HOME");
    return (home ? home : "") + written.substr(1);
  }
  if (origin.line == 0 || written.starts_with('/')) return written;
  return (std::filesystem::path(origin.name).parent_path() / written).string();
}

// A bare descriptor, closed at the end of its block.
class OpenFile {
 public:
  explicit OpenFile(const std::string& path) : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

// "" where all is well, a warning where the group may read it. Errors: permission, where anyone may or the group may write.
Result<std::string> check_mode(int file, const std::string& path) {
  struct stat status{};
  if (::fstat(file, &status) != 0) return std::unexpected(error_from_errno(errno, "cannot read the secret", path));
  if ((status.st_mode & (S_IROTH | S_IWOTH | S_IWGRP)) != 0)
    return fail(ErrorCode::permission, "the file of a secret is open to others", path,
                "chmod 600 " + path + "; then change the secret, for others may have read it");
  return (status.st_mode & S_IRGRP) != 0 ? "the group may read " + path : std::string();
}

Result<FoundSecret> from_file(const std::string& path) {
  const OpenFile file(path);
  if (file.get() < 0) return std::unexpected(error_from_errno(errno, "cannot read the secret", path));
  auto warning = check_mode(file.get(), path);
  if (!warning) return std::unexpected(warning.error());
  std::array<char, most_bytes> bytes{};
  std::size_t size = 0;
  ssize_t got = 0;
  while (size < bytes.size() && (got = ::read(file.get(), bytes.data() + size, bytes.size() - size)) > 0)
    size += static_cast<std::size_t>(got);
  const int reason = errno;
  const std::string_view text(bytes.data(), size);
  FoundSecret found{Secret(text.substr(0, text.find_first_of("\r\n"))), *std::move(warning)};
  ::explicit_bzero(bytes.data(), bytes.size());
  if (got < 0) return std::unexpected(error_from_errno(reason, "cannot read the secret", path));
  if (size == bytes.size()) return fail(ErrorCode::usage, "the file of a secret is longer than 4 KiB", path);
  if (found.secret.size() == 0) return fail(ErrorCode::usage, "the file of a secret has an empty first line", path);
  return found;
}

Result<FoundSecret> from_environment(const std::string& variable, const Origin& origin) {
  const char* text = std::getenv(variable.c_str());
  if (!text || !*text)
    return fail(ErrorCode::usage, fmt::format("the environment variable {} that should hold a secret is not set", variable),
                origin.describe());
  return FoundSecret{Secret(text), ""};
}

// A file that says where a secret goes must be the one that names it, for a later one may be anybody's.
Result<void> check_destination(const Settings& settings, const std::string& section, const Origin& secret) {
  if (secret.line == 0) return {};
  for (const char* name : {"host", "port", "url", "ca_file", "insecure"}) {
    const std::string key = section + "." + name;
    const Setting* setting = settings.find(key);
    if (!setting || setting->origin.line == 0 || setting->origin.name == secret.name) continue;
    return fail(ErrorCode::usage, fmt::format("'{}' is not set where the secret is: it says whom the secret would be sent to", key),
                setting->origin.describe(), fmt::format("set it beside the secret, in {}", secret.name));
  }
  return {};
}

}  // namespace

Secret::Secret(std::string_view text) : bytes_(std::make_unique<char[]>(text.size() + 1)), size_(text.size()) {
  std::memcpy(bytes_.get(), text.data(), text.size());
}

Secret::Secret(Secret&& other) noexcept : bytes_(std::move(other.bytes_)), size_(std::exchange(other.size_, 0)) {}

Secret& Secret::operator=(Secret&& other) noexcept {
  if (this == &other) return *this;
  overwrite();
  bytes_ = std::move(other.bytes_);
  size_ = std::exchange(other.size_, 0);
  return *this;
}

Secret::~Secret() { overwrite(); }

void Secret::overwrite() {
  if (bytes_) ::explicit_bzero(bytes_.get(), size_);
}

Result<std::optional<FoundSecret>> read_secret(const Settings& settings, const std::string& section, std::string_view name) {
  const std::string file_key = fmt::format("{}.{}_file", section, name), environment_key = fmt::format("{}.{}_env", section, name);
  const auto file = settings.text(file_key), variable = settings.text(environment_key);
  if (!file) return std::unexpected(file.error());
  if (!variable) return std::unexpected(variable.error());
  if (!*file && !*variable) return std::optional<FoundSecret>();
  const Origin& origin = settings.find(*file ? file_key : environment_key)->origin;
  if (*file && *variable)
    return fail(ErrorCode::usage, fmt::format("'{}' and '{}' are both set", file_key, environment_key), origin.describe(), "remove one");
  if (const auto good = check_destination(settings, section, origin); !good) return std::unexpected(good.error());
  auto found = *file ? from_file(path_of(**file, origin)) : from_environment(**variable, origin);
  if (!found) return std::unexpected(found.error());
  return std::optional(*std::move(found));
}

}  // namespace joulery
