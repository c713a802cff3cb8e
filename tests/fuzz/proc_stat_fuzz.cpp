// Lines of /proc/PID/stat, whose name field holds whatever the process chose.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "watch/proc_stat.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto stat = joulery::parse_proc_stat(text); stat && text.find("(" + stat->name + ")") == std::string_view::npos) std::abort();
  return 0;
}
