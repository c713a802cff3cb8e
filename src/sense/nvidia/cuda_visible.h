// Which GPUs a CUDA program can see, worked out from the environment that it is started with as CUDA itself reads it.
//
// Sources: CUDA C++ Programming Guide, "CUDA Environment Variables" (lists, prefixes, what ends a list, MIG names, device order);
// MIG User Guide, "CUDA Device Enumeration" (how many slices a process can have, before driver 570 and since); what PyTorch's
// parser was tested against on driver 525 (a repeated entry leaves nothing, "1gpu" is 1).
//
// Invariant: pure. An answer is certain; where CUDA's own is not documented or depends on what only CUDA knows, it is an Error.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace joulery {

struct CudaSlice {
  unsigned gpu_instance = 0, compute_instance = 0;
  std::string uuid;  // "MIG-…"
};

// A GPU that this process may use, in any order.
struct CudaGpu {
  std::size_t number = 0;   // as NVIDIA's library numbers it: node/gpu/N
  std::string uuid, name;   // "GPU-…", "NVIDIA A100-SXM4-80GB"
  unsigned pci_domain = 0, pci_bus = 0, pci_device = 0;
  bool partitioned = false;
  std::vector<CudaSlice> slices;
};

struct CudaEnvironment {
  std::optional<std::string> visible_devices;  // CUDA_VISIBLE_DEVICES; nothing where it is not set
  std::string device_order;                    // CUDA_DEVICE_ORDER; "" where it is not set
  bool behind_mps = false;                     // a CUDA MPS daemon serves it: its indices count the daemon's devices
  int driver = 0;                              // major number of the driver; 0: not known
};

struct VisibleGpu {
  std::size_t gpu = 0;               // CudaGpu::number
  std::optional<std::size_t> slice;  // index into its slices; nothing: the whole GPU, or of a partitioned one a slice not known
  bool shared = false;               // it is partitioned: its board's power is not the program's alone
  friend bool operator==(const VisibleGpu&, const VisibleGpu&) = default;
};

// In the program's own order. Errors: `usage`, saying what cannot be known and what would make it certain.
Result<std::vector<VisibleGpu>> visible_gpus(std::vector<CudaGpu> gpus, const CudaEnvironment& environment);

}  // namespace joulery
