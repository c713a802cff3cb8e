#include "app/gpu_notes.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <set>

namespace joulery {
namespace {

std::string slice_of(const CudaGpus& gpus, const VisibleGpu& visible) {
  for (const CudaGpu& gpu : gpus.gpus)
    if (gpu.number == visible.gpu && visible.slice) {
      const CudaSlice& slice = gpu.slices[*visible.slice];
      return fmt::format("node/gpu/{}: slice {}/{}, {}", gpu.number, slice.gpu_instance, slice.compute_instance, slice.uuid);
    }
  return fmt::format("node/gpu/{}: one of its slices", visible.gpu);
}

}  // namespace

CudaEnvironment cuda_environment(int driver) {
  CudaEnvironment environment;
  if (const char* list = std::getenv("CUDA_VISIBLE_DEVICES")) environment.visible_devices = list;
  if (const char* order = std::getenv("CUDA_DEVICE_ORDER")) environment.device_order = order;
  const char* pipes = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
  environment.behind_mps = ::access((std::string(pipes ? pipes : "/tmp/nvidia-mps") + "/control").c_str(), F_OK) == 0;
  environment.driver = driver;
  return environment;
}

std::vector<std::string> gpu_notes(const CudaGpus& gpus, const CudaEnvironment& environment) {
  std::vector<std::string> notes;
  const auto visible = visible_gpus(gpus.gpus, environment);
  if (!visible) return {fmt::format("gpus-unclear: {}; {}", visible.error().what, visible.error().hint)};
  std::set<std::size_t> boards;
  for (const VisibleGpu& one : *visible) boards.insert(one.gpu);
  if (boards.size() < gpus.gpus.size()) {
    std::string list;
    for (const std::size_t board : boards) list += fmt::format("{}node/gpu/{}", list.empty() ? "" : ", ", board);
    notes.push_back(fmt::format("gpus-visible: {} of {}{}", list.empty() ? "none" : list, gpus.gpus.size(),
                                environment.visible_devices ? " by CUDA_VISIBLE_DEVICES=" + *environment.visible_devices : ""));
  }
  for (const VisibleGpu& one : *visible)
    if (one.shared) notes.push_back("gpu-shared: " + slice_of(gpus, one));
  return notes;
}

}  // namespace joulery
