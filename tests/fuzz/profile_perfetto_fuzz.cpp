// Perfetto's protobuf that holds anything.
#include "tests/fuzz/profile_check.h"
#include "watch/profile/perfetto_trace.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  joulery::fuzz_reader(data, size, [](joulery::TraceInput& input) { return joulery::read_perfetto(input); });
  return 0;
}
