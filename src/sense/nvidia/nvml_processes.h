// Which processes use a GPU, and how much of it. Two lists of the library's are joined by process: who has a context and memory
// (compute and graphics), and who was busy since the last time that we asked.
#pragma once

#include <vector>

#include "sense/device_process.h"
#include "sense/nvidia/nvml_api.h"

namespace joulery {

class NvmlProcesses {
 public:
  // Adds the present users of `device` to `into`. `partitioned`: the GPU is in slices, for which no utilisation is told.
  void read(const NvmlApi& api, NvmlApi::Device device, const Component& component, bool partitioned, std::vector<DeviceProcess>& into);

 private:
  void read_users(const NvmlApi& api, NvmlApi::Device device, const Component& component, std::vector<DeviceProcess>& into);
  bool read_use(const NvmlApi& api, NvmlApi::Device device);

  std::vector<NvmlProcess> users_;
  std::vector<NvmlProcessUse> use_;
  unsigned long long last_seen_us_ = 0;  // the library's own time of the newest sample: its clock is not known to be any of ours
  bool begun_ = false;
};

}  // namespace joulery
