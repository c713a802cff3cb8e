// Why AMD's libraries give nothing, and what mends it.
#pragma once

#include "sense/obstacles.h"

namespace joulery {

inline constexpr Advice amd_no_gpu{"this machine has no AMD GPU", ""};
inline constexpr Advice amd_no_driver{"there is an AMD GPU, but its driver is not loaded", "sudo modprobe amdgpu"};
inline constexpr Advice amd_no_permission{"AMD's device files /dev/kfd and /dev/dri/render* cannot be opened",
                                          "sudo usermod -aG render,video \"$USER\"  # and log in again\n"
                                          "docker run --device /dev/kfd --device /dev/dri ...  # in a container"};

}  // namespace joulery
