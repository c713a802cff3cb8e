#include "watch/machine_busy.h"

#include <charconv>
#include <cstdint>
#include <string_view>

#include "watch/proc_folder.h"
#include "watch/proc_stat.h"

namespace joulery {
namespace {

std::optional<std::int64_t> take_count(std::string_view& text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc{} || value < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

int cpus_in(std::string_view proc_stat) {
  int cpus = 0;
  for (std::size_t at = proc_stat.find("\ncpu"); at != std::string_view::npos; at = proc_stat.find("\ncpu", at + 1)) ++cpus;
  return cpus;
}

}  // namespace

std::optional<BusyTime> machine_busy_time(const std::string& root, const std::string& cpuacct_folder) {
  if (!cpuacct_folder.empty()) {
    const auto text = read_small_file(root + cpuacct_folder + "/cpuacct.usage");
    std::string_view rest = text ? *text : std::string_view();
    if (const auto used = take_count(rest)) return BusyTime{nanoseconds(*used), {}};
  }
  const auto text = read_small_file(root + "/proc/stat");
  if (!text || !text->starts_with("cpu ")) return std::nullopt;
  std::string_view rest = std::string_view(*text).substr(4);
  std::int64_t ticks = 0;
  for (int field = 0; field < 3; ++field) {
    const auto value = take_count(rest);
    if (!value) return std::nullopt;
    ticks += *value;
  }
  return BusyTime{duration_of_ticks(ticks), duration_of_ticks(cpus_in(*text))};
}

}  // namespace joulery
