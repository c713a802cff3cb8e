#include "factors/whole_file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace joulery {
namespace {

std::unexpected<Error> cannot_write(std::string_view what, const std::string& path) {
  return std::unexpected(error_from_errno(errno, fmt::format("cannot write {}", what), path));
}

Result<void> write_all(int file, const std::string& text, std::string_view what, const std::string& path) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(file, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return cannot_write(what, path);
    done += static_cast<std::size_t>(count);
  }
  if (::fsync(file) != 0) return cannot_write(what, path);
  return {};
}

}  // namespace

Result<std::string> read_whole_file(const std::string& path, std::string_view what, const std::string& hint) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  if (!file || text.fail()) return std::unexpected(error_from_errno(errno, fmt::format("cannot read {}", what), path, hint));
  return text.str();
}

Result<void> write_whole_file(const std::string& path, const std::string& text, std::string_view what) {
  std::error_code error;
  const auto folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error) return std::unexpected(error_from_errno(error.value(), fmt::format("cannot make the folder of {}", what), folder.string()));
  std::string beside = path + ".XXXXXX";
  const int file = ::mkstemp(beside.data());
  if (file < 0) return cannot_write(what, path);
  ::fchmod(file, 0644);
  auto written = write_all(file, text, what, path);
  if (::close(file) != 0 && written) written = cannot_write(what, path);
  if (written && ::rename(beside.c_str(), path.c_str()) != 0) written = cannot_write(what, path);
  if (!written) ::unlink(beside.c_str());
  return written;
}

}  // namespace joulery
