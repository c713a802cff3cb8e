#include "sense/nvidia/cuda_gpus.h"

#include "sense/nvidia/nvml.h"
#include "sense/nvidia/nvml_mig.h"

namespace joulery {
namespace {

CudaGpu gpu_of(const NvmlApi& api, NvmlApi::Device device, unsigned number) {
  CudaGpu gpu;
  gpu.number = number;
  gpu.uuid = nvml_text(api.uuid, device);
  gpu.name = nvml_text(api.name, device);
  NvmlPci pci{};
  if (call(api.pci, device, &pci) == NvmlReturn::success) gpu.pci_domain = pci.domain, gpu.pci_bus = pci.bus, gpu.pci_device = pci.device;
  gpu.partitioned = is_partitioned(api, device);
  for (const MigSlice& slice : mig_slices(api, device)) gpu.slices.push_back({slice.gpu_instance, slice.compute_instance, slice.uuid});
  return gpu;
}

}  // namespace

std::optional<CudaGpus> read_cuda_gpus(const Machine& machine) {
  if (!may_have_nvml(machine)) return std::nullopt;
  const auto library = NvmlLibrary::open();
  if (!library) return std::nullopt;
  const NvmlApi& api = library->api();
  unsigned count = 0;
  if (call(api.device_count, &count) != NvmlReturn::success) return std::nullopt;
  CudaGpus all{{}, library->driver()};
  for (unsigned number = 0; number < count; ++number) {
    NvmlApi::Device device = nullptr;
    if (call(api.device_by_index, number, &device) == NvmlReturn::success) all.gpus.push_back(gpu_of(api, device, number));
  }
  if (all.gpus.empty()) return std::nullopt;
  return all;
}

}  // namespace joulery
