// What a report must say of the GPUs of a run: which of them the command can see, and whose board it shares.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sense/nvidia/cuda_gpus.h"

namespace joulery {

// The environment that a command started from this process inherits, as far as CUDA reads it.
CudaEnvironment cuda_environment(int driver);

// Flags of the report: "gpus-visible: …", "gpu-shared: …", "gpus-unclear: …". None where every GPU can be seen and is whole.
std::vector<std::string> gpu_notes(const CudaGpus& gpus, const CudaEnvironment& environment);

}  // namespace joulery
