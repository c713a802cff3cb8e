// The GPUs that a CUDA program started by this process could use, as NVIDIA's library lists them: what resolving
// CUDA_VISIBLE_DEVICES needs to know.
#pragma once

#include <optional>
#include <vector>

#include "sense/machine.h"
#include "sense/nvidia/cuda_visible.h"

namespace joulery {

struct CudaGpus {
  std::vector<CudaGpu> gpus;  // without those that are blocked for this process, which CUDA does not count either
  int driver = 0;             // major number; 0: not known
};

// Nothing where there is no library, no driver or no GPU.
std::optional<CudaGpus> read_cuda_gpus(const Machine& machine);

}  // namespace joulery
