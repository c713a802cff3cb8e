#include "sense/host/proc_files.h"

#include <array>
#include <limits>
#include <set>
#include <utility>

#include "sense/parse_number.h"

namespace joulery {
namespace {

constexpr std::int64_t largest_ticks = std::numeric_limits<std::int64_t>::max() / 16;

constexpr std::int64_t largest_kibibytes = std::numeric_limits<std::int64_t>::max() / 4096;  // sums of a few never overflow

enum StatColumn { user, nice, system, idle, iowait, irq, softirq, steal, stat_columns };

// "key : value" -> the value, where the line begins with just this key.
std::optional<std::string_view> value_of(std::string_view line, std::string_view key) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || trim_end(line.substr(0, colon)) != key) return std::nullopt;
  return trim_start(trim_end(line.substr(colon + 1)));
}

void take_integer(std::string_view line, std::string_view key, int& target) {
  const auto text = value_of(line, key);
  if (!text || target != 0) return;
  if (const auto value = parse_whole<int>(*text)) target = *value;
}

void take_text(std::string_view line, std::string_view key, std::string& target) {
  const auto text = value_of(line, key);
  if (text && target.empty()) target = *text;
}

bool has_word(std::string_view text, std::string_view word) {
  while (true) {
    const std::string_view next = next_word(text);
    if (next.empty()) return false;
    if (next == word) return true;
  }
}

// "MemTotal:       24731708 kB" -> bytes.
std::optional<std::int64_t> kibibytes(std::string_view line, std::string_view key) {
  auto rest = value_of(line, key);
  if (!rest) return std::nullopt;
  const auto value = parse_whole<std::int64_t>(next_word(*rest));
  if (!value || *value < 0 || *value > largest_kibibytes) return std::nullopt;
  return *value * 1024;
}

// ARM: the implementer's number in place of a vendor's name.
struct Implementer {
  std::string_view code, name;
};
constexpr Implementer implementers[] = {{"0x41", "ARM"}, {"0x46", "Fujitsu"},  {"0x48", "HiSilicon"}, {"0x4e", "NVIDIA"},
                                        {"0x50", "APM"}, {"0x51", "Qualcomm"}, {"0x61", "Apple"},     {"0xc0", "Ampere"}};

void take_implementer(std::string_view line, std::string& vendor) {
  const auto code = value_of(line, "CPU implementer");
  if (!code || !vendor.empty()) return;
  for (const Implementer& known : implementers)
    if (known.code == *code) vendor = known.name;
}

}  // namespace

std::optional<CpuTimes> parse_system_stat(std::string_view text) {
  std::string_view line = next_line(text);
  if (next_word(line) != "cpu") return std::nullopt;
  std::array<std::int64_t, stat_columns> ticks{};
  for (std::size_t column = 0; column < ticks.size(); ++column) {
    const std::string_view word = next_word(line);
    if (word.empty() && column > idle) break;  // old kernels have fewer columns
    const auto value = parse_whole<std::int64_t>(word);
    if (!value || *value < 0 || *value > largest_ticks) return std::nullopt;
    ticks[column] = *value;
  }
  CpuTimes times;
  times.busy = ticks[user] + ticks[nice] + ticks[system] + ticks[irq] + ticks[softirq];
  times.total = times.busy + ticks[idle] + ticks[iowait] + ticks[steal];
  return times;
}

std::optional<MemoryUse> parse_meminfo(std::string_view text) {
  std::optional<std::int64_t> total, available, free, buffers, cached;
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    const std::pair<std::string_view, std::optional<std::int64_t>*> fields[] = {
        {"MemTotal", &total}, {"MemAvailable", &available}, {"MemFree", &free}, {"Buffers", &buffers}, {"Cached", &cached}};
    for (const auto& [key, target] : fields)
      if (const auto value = kibibytes(line, key); value && !*target) *target = value;
  }
  if (!total) return std::nullopt;
  if (!available && free && buffers && cached && *free <= *total && *buffers <= *total && *cached <= *total)
    available = *free + *buffers + *cached;
  if (!available || *available > *total) return MemoryUse{*total, std::nullopt};
  return MemoryUse{*total, *total - *available};
}

CpuInfo parse_cpuinfo(std::string_view text) {
  CpuInfo info;
  std::set<std::string_view> sockets;
  std::set<std::pair<std::string_view, std::string_view>> cores;
  std::string_view socket;
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    if (const auto number = value_of(line, "processor"); number && parse_whole<int>(*number)) ++info.threads;
    if (const auto id = value_of(line, "physical id")) sockets.insert(socket = *id);
    if (const auto id = value_of(line, "core id")) cores.emplace(socket, *id);
    if (const auto flags = value_of(line, "flags"); flags && !info.hypervisor_flag) info.hypervisor_flag = has_word(*flags, "hypervisor");
    take_text(line, "model name", info.model_name);
    take_text(line, "vendor_id", info.vendor);
    take_implementer(line, info.vendor);
    take_integer(line, "cpu family", info.family);
    take_integer(line, "model", info.model);
    take_integer(line, "stepping", info.stepping);
  }
  info.sockets = static_cast<int>(sockets.size());
  info.cores = static_cast<int>(cores.size());
  return info;
}

}  // namespace joulery
