#include "watch/proc_folder.h"

#include <dirent.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <memory>

#include "watch/proc_stat.h"

namespace joulery {
namespace {

// "time on the CPU, time waiting for it, slices"; the first in nanoseconds.
std::optional<Duration> on_cpu_of_schedstat(const std::string& path) {
  const auto text = read_small_file(path);
  std::int64_t ns = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), ns).ec != std::errc{} || ns < 0) return std::nullopt;
  return nanoseconds(ns);
}

}  // namespace

std::vector<std::int32_t> numbers_in(const std::string& folder) {
  std::vector<std::int32_t> numbers;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(folder.c_str()), closedir);
  if (!open) return numbers;
  while (const dirent* entry = readdir(open.get())) {
    const std::string_view name(entry->d_name);
    std::int32_t number = 0;
    const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (failed == std::errc{} && end == name.data() + name.size()) numbers.push_back(number);
  }
  std::ranges::sort(numbers);
  return numbers;
}

Duration duration_of_ticks(std::int64_t ticks) {
  static const std::int64_t per_second = sysconf(_SC_CLK_TCK);
  return nanoseconds(ticks * (1'000'000'000 / per_second));
}

Duration recorded_cpu_time(const std::string& process_folder, std::int64_t ticks, std::map<std::int32_t, Duration>& threads) {
  const std::string tasks = process_folder + "/task";
  for (const std::int32_t thread : numbers_in(tasks))
    if (const auto ran = on_cpu_of_schedstat(fmt::format("{}/{}/schedstat", tasks, thread))) threads[thread] = *ran;
  Duration sum;
  for (const auto& [thread, ran] : threads) sum += ran;
  return std::max(sum, duration_of_ticks(ticks));
}

std::optional<std::uint32_t> user_of_status(std::string_view text) {
  constexpr std::string_view key = "\nUid:";
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + key.size());
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  std::uint32_t user = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), user).ec != std::errc{}) return std::nullopt;
  return user;
}

}  // namespace joulery
