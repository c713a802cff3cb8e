// The parsers of /proc and of perf's descriptions in sysfs: any text is either understood or refused, and what is
// understood keeps its invariants.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sense/host/proc_files.h"
#include "sense/rapl/perf_events.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace joulery;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto times = parse_system_stat(text)) require(times->busy >= 0 && times->busy <= times->total);
  if (const auto use = parse_meminfo(text)) require(use->total >= 0 && (!use->used || (*use->used >= 0 && *use->used <= use->total)));
  const CpuInfo info = parse_cpuinfo(text);
  require(info.sockets >= 0 && info.cores >= 0 && info.threads >= 0);
  for (const int cpu : parse_cpu_list(text)) require(cpu >= 0);
  parse_event_config(text);
  return 0;
}
