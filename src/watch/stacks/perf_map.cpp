#include "watch/stacks/perf_map.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

namespace joulery {
namespace {

constexpr std::size_t largest_file = std::size_t{256} << 20;

bool take_hex(std::string_view& text, std::uint64_t& value) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (failed != std::errc{} || end == text.data() + text.size() || *end != ' ') return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
  return true;
}

}  // namespace

PerfMap PerfMap::parse(std::string_view text) {
  PerfMap map;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    Function function;
    if (!take_hex(line, function.begin) || !take_hex(line, function.size) || line.empty()) continue;
    function.name = line.substr(0, 4096);
    map.functions_.push_back(std::move(function));
  }
  std::ranges::reverse(map.functions_);  // so that the stable sort puts what was said last first
  std::ranges::stable_sort(map.functions_, {}, &Function::begin);
  const auto older = std::ranges::unique(map.functions_, {}, &Function::begin);
  map.functions_.erase(older.begin(), older.end());
  return map;
}

PerfMap PerfMap::of_process(std::int32_t pid) {
  const std::string path = fmt::format("/tmp/perf-{}.map", pid);
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return {};
  struct stat facts{};
  std::string text;
  if (::fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) && (facts.st_uid == ::geteuid() || facts.st_uid == 0 || ::geteuid() == 0)) {
    text.resize(std::min(static_cast<std::size_t>(facts.st_size), largest_file));
    std::size_t got = 0;
    for (ssize_t n = 1; n > 0 && got < text.size(); got += static_cast<std::size_t>(std::max<ssize_t>(n, 0)))
      n = ::read(fd, text.data() + got, text.size() - got);
    text.resize(got);
  }
  ::close(fd);
  return parse(text);
}

std::string_view PerfMap::at(std::uint64_t address) const {
  auto next = std::ranges::upper_bound(functions_, address, {}, &Function::begin);
  if (next == functions_.begin()) return {};
  const Function& function = *--next;
  return address - function.begin < function.size ? std::string_view(function.name) : std::string_view();
}

bool PerfMap::begins_at(std::uint64_t address) const { return std::ranges::binary_search(functions_, address, {}, &Function::begin); }

std::string python_function(std::string_view name) {
  if (!name.starts_with("py::")) return {};
  name.remove_prefix(4);
  const std::size_t colon = name.find(':');
  if (colon == std::string_view::npos) return std::string(name);
  std::string_view file = name.substr(colon + 1);
  if (const std::size_t slash = file.rfind('/'); slash != std::string_view::npos) file.remove_prefix(slash + 1);
  return fmt::format("{} ({})", name.substr(0, colon), file);
}

}  // namespace joulery
