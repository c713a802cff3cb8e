// Chrome's trace JSON, packed or not: never a crash, memory bounded, events that nest.
#include "tests/fuzz/profile_check.h"
#include "watch/profile/kineto.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  joulery::fuzz_reader(data, size, [](joulery::TraceInput& input) { return joulery::read_kineto(input); });
  return 0;
}
