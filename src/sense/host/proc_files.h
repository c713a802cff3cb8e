// The text files of /proc that meters read, as values. Pure functions of the text: they take anything and never throw.
// A field that is absent or no number is absent from the result, never 0.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace joulery {

// Processor time since boot in ticks of 1/USER_HZ s, summed over all processors (the line "cpu " of /proc/stat).
struct CpuTimes {
  std::int64_t busy = 0;   // user, nice, system, irq, softirq; a guest's time is part of user already
  std::int64_t total = 0;  // busy, idle, iowait, and what the hypervisor gave to others (steal)
};
std::optional<CpuTimes> parse_system_stat(std::string_view text);

// Bytes.
struct MemoryUse {
  std::int64_t total = 0;
  std::optional<std::int64_t> used;  // MemTotal - MemAvailable; before Linux 3.14, less MemFree, Buffers and Cached
};
std::optional<MemoryUse> parse_meminfo(std::string_view text);

struct CpuInfo {
  std::string model_name, vendor;
  int family = 0, model = 0, stepping = 0;       // 0 where not told
  int sockets = 0, cores = 0, threads = 0;       // sockets and cores: 0 where the text does not tell (most ARM)
  bool hypervisor_flag = false;
};
CpuInfo parse_cpuinfo(std::string_view text);

}  // namespace joulery
