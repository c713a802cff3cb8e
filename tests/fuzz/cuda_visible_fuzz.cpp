// CUDA_VISIBLE_DEVICES of any bytes: no crash, and never a GPU that is not there, or one slice twice.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "sense/nvidia/cuda_visible.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace joulery;
  if (size < 1) return 0;
  std::vector<CudaGpu> gpus(3);
  for (std::size_t n = 0; n < gpus.size(); ++n)
    gpus[n] = {n, "GPU-8932f93" + std::to_string(n), n == 2 ? "B" : "A", 0, static_cast<unsigned>(3 - n), 0, false, {}};
  if (data[0] & 1) gpus[1].partitioned = true, gpus[1].slices = {{3, 0, "MIG-c6d4"}, {5, 0, "MIG-cba6"}};
  const CudaEnvironment environment{std::string(reinterpret_cast<const char*>(data) + 1, size - 1), data[0] & 2 ? "PCI_BUS_ID" : "", false,
                                    data[0] & 4 ? 570 : 550};
  const auto visible = visible_gpus(gpus, environment);
  if (!visible) return 0;
  for (const VisibleGpu& one : *visible)
    if (one.gpu >= gpus.size() || (one.slice && *one.slice >= gpus[one.gpu].slices.size()) || std::ranges::count(*visible, one) != 1)
      std::abort();
  return 0;
}
