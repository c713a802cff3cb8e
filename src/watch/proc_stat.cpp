#include "watch/proc_stat.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>

namespace joulery {
namespace {

template <class Number>
bool take_number(std::string_view& text, Number& number) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

// Fields 4 to 22 after the state; those that nobody needs are skipped over.
bool take_fields(std::string_view text, ProcStat& stat) {
  constexpr int parent = 4, user = 14, system = 15, children_user = 16, children_system = 17, start = 22;
  for (int field = parent; field <= start; ++field) {
    std::int64_t value = 0;
    if (!take_number(text, value)) return false;
    if (field == parent) stat.parent = static_cast<std::int32_t>(value);
    if (field == user) stat.user_ticks = value;
    if (field == system) stat.system_ticks = value;
    if (field == children_user || field == children_system) stat.children_ticks += value;
    if (field == start) stat.start_ticks = value;
  }
  return true;
}

}  // namespace

std::optional<ProcStat> parse_proc_stat(std::string_view text) {
  const std::size_t open = text.find('('), close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open || text.size() < close + 4) return std::nullopt;
  ProcStat stat;
  std::string_view head = text.substr(0, open);
  if (!take_number(head, stat.pid) || text[close + 1] != ' ') return std::nullopt;
  stat.name = text.substr(open + 1, close - open - 1);
  stat.state = text[close + 2];
  if (!take_fields(text.substr(close + 3), stat)) return std::nullopt;
  return stat;
}

std::optional<std::string> read_small_file(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::string text;
  std::array<char, 4096> buffer;
  ssize_t got = 0;
  do {
    got = read(fd, buffer.data(), buffer.size());
    if (got > 0) text.append(buffer.data(), static_cast<std::size_t>(got));
  } while (got > 0 || (got < 0 && errno == EINTR));
  close(fd);
  if (got < 0) return std::nullopt;
  return text;
}

std::optional<ProcStat> read_proc_stat(const std::string& path) {
  const auto text = read_small_file(path);
  if (!text) return std::nullopt;
  return parse_proc_stat(*text);
}

}  // namespace joulery
