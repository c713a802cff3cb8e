// The slices of a partitioned GPU (MIG). Energy, power, limits and clocks exist for the whole board alone; a slice has its memory
// and its profiling metrics.
#pragma once

#include <string>
#include <vector>

#include "sense/nvidia/nvml_api.h"

namespace joulery {

struct MigSlice {
  NvmlApi::Device handle = nullptr;
  unsigned gpu_instance = 0, compute_instance = 0;
  std::string uuid;  // "MIG-…"
};

bool is_partitioned(const NvmlApi& api, NvmlApi::Device device);
// The compute instances of a partitioned GPU, in the library's order; none where it is not partitioned, or not yet.
std::vector<MigSlice> mig_slices(const NvmlApi& api, NvmlApi::Device device);

}  // namespace joulery
