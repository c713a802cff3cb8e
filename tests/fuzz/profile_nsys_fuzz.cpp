// nsys' SQLite that holds anything: damaged pages, hostile schemas.
#include "tests/fuzz/profile_check.h"
#include "watch/profile/nsys.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  joulery::fuzz_reader(data, size, [](joulery::TraceInput& input) { return joulery::read_nsys(input); });
  return 0;
}
