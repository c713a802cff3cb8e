// A calibration that people may edit: whatever it holds, the answer is points in order or an error that says so. And any
// processor name leaves its plain form and its family found or not, never a crash.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "factors/calibration.h"
#include "factors/cpu_table.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace joulery;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto points = parse_calibration(text, "fuzz");
  if (points) {
    require(points->idle < points->max && to_watts(points->idle) > 0);
    require(!points->half || (points->idle < *points->half && *points->half < points->max));
  } else {
    require(!points.error().what.empty() && !points.error().where.empty());
  }
  const std::string plain = plain_cpu_name(text.substr(0, 200));
  require(plain.size() <= 200);
  if (const auto tdp = find_tdp(text.substr(0, 200))) require(to_watts(*tdp) > 0);
  CpuIdentity cpu;
  cpu.model_name = text.substr(0, 200);
  require(find_cpu_kind(cpu).market_class <= 3);
  return 0;
}
