// Maps of code made at run time: anybody may write to /tmp.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "watch/stacks/perf_map.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto map = joulery::PerfMap::parse({reinterpret_cast<const char*>(data), size});
  for (const std::uint64_t address : {0ULL, 0x10ULL, 0x7f0000001000ULL, ~0ULL})
    if (joulery::python_function(map.at(address)).size() > size + 8) std::abort();
  return 0;
}
