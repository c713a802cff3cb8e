#include "sense/nvidia/nvml_mig.h"

namespace joulery {

bool is_partitioned(const NvmlApi& api, NvmlApi::Device device) {
  unsigned now = 0, pending = 0;
  return call(api.mig_mode, device, &now, &pending) == NvmlReturn::success && now == 1;
}

std::vector<MigSlice> mig_slices(const NvmlApi& api, NvmlApi::Device device) {
  std::vector<MigSlice> slices;
  unsigned most = 0;
  if (!is_partitioned(api, device) || call(api.mig_most, device, &most) != NvmlReturn::success) return slices;
  for (unsigned index = 0; index < most; ++index) {
    MigSlice slice;
    if (call(api.mig_by_index, device, index, &slice.handle) != NvmlReturn::success) continue;
    if (call(api.gpu_instance, slice.handle, &slice.gpu_instance) != NvmlReturn::success) continue;
    if (call(api.compute_instance, slice.handle, &slice.compute_instance) != NvmlReturn::success) continue;
    slice.uuid = nvml_text(api.uuid, slice.handle);
    slices.push_back(std::move(slice));
  }
  return slices;
}

}  // namespace joulery
