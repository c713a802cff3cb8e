// One line of /proc/PID/stat. The name in brackets may hold brackets and spaces itself ("a) R (b"), so the fields
// are counted from the last ')'.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace joulery {

struct ProcStat {
  std::int32_t pid = 0;
  std::string name;               // comm, at most 15 bytes
  char state = '?';
  std::int32_t parent = 0;
  std::int64_t user_ticks = 0, system_ticks = 0;  // of the process with its threads that ended
  std::int64_t children_ticks = 0;                // of its children that have ended and were waited for, with theirs
  std::int64_t start_ticks = 0;   // since boot; with the pid it identifies a process
};

std::optional<ProcStat> parse_proc_stat(std::string_view text);  // nothing where the text is not such a line
std::optional<ProcStat> read_proc_stat(const std::string& path); // nothing where the process is gone

// The whole of a small file of /proc; nothing where it cannot be read.
std::optional<std::string> read_small_file(const std::string& path);

}  // namespace joulery
