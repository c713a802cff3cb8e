#include "sense/machine.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <utility>

#include "sense/parse_number.h"

namespace joulery {
namespace {

constexpr std::size_t largest_file = 1 << 20;

std::string without_trailing_slashes(std::string root) {
  while (!root.empty() && root.back() == '/') root.pop_back();
  return root;
}

// Appends `fd` to `text` up to `at_most` bytes; 0 or the errno of the read that failed, EFBIG where there is more.
int read_some(int fd, std::size_t at_most, std::string& text) {
  std::array<char, 4096> block;
  while (text.size() < at_most) {
    const ssize_t count = ::read(fd, block.data(), std::min(block.size(), at_most - text.size()));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    if (count == 0) return 0;
    text.append(block.data(), static_cast<std::size_t>(count));
  }
  return EFBIG;
}

// O_NONBLOCK: a FIFO in a recorded tree must not hold us up.
int read_file(const std::string& where, std::size_t at_most, std::string& text) {
  const int fd = ::open(where.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return errno;
  const int error = read_some(fd, at_most, text);
  ::close(fd);
  text.resize(trim_end(text).size());
  return error;
}

}  // namespace

std::string path_below(std::string_view folder, std::string_view name) {
  std::string path(folder);
  path += '/';
  return path += name;
}

Machine::Machine(std::string root) : root_(without_trailing_slashes(std::move(root))) {}

Result<std::string> Machine::read(std::string_view absolute) const {
  const std::string where = path(absolute);
  std::string text;
  const int error = read_file(where, largest_file, text);
  if (error != 0) return std::unexpected(error_from_errno(error, "cannot read the file", where));
  return text;
}

std::string Machine::read_or_empty(std::string_view absolute, std::size_t at_most) const {
  std::string text;
  const int error = read_file(path(absolute), at_most, text);
  return error == 0 || error == EFBIG ? text : std::string();
}

Result<std::int64_t> Machine::read_integer(std::string_view absolute) const {
  const Result<std::string> text = read(absolute);
  if (!text) return std::unexpected(text.error());
  const auto value = parse_whole<std::int64_t>(*text);
  if (!value) return fail(ErrorCode::format, "expected one whole number, found \"" + text->substr(0, 40) + "\"", path(absolute));
  return *value;
}

std::vector<std::string> Machine::list(std::string_view absolute) const {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path(absolute).c_str()), ::closedir);
  if (!folder) return names;
  while (const dirent* entry = ::readdir(folder.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool Machine::exists(std::string_view absolute) const { return ::access(path(absolute).c_str(), F_OK) == 0; }

}  // namespace joulery
