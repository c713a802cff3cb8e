// How busy an accelerator was that tells no energy, from a recording: what an estimate of its energy follows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "factors/accelerator_power.h"
#include "meter/track.h"
#include "record/recording.h"

namespace joulery {

struct AcceleratorLoad {
  std::string device;                           // "4 x TPU v4"
  Component component;                          // node/gpu/tpu-0
  const std::vector<MonoTime>* times = nullptr;
  std::vector<std::optional<double>> share;     // 0..1 at each time; 0 where no program used it, nothing where it is not known
};

// The accelerators of one device of a recording; none where any of its channels tells energy or power.
std::vector<AcceleratorLoad> accelerator_loads(const RecordedDevice& device, const std::vector<MonoTime>& times, const Series& series);

// Between two readings it was as busy as the later one says, which tells of the time before it.
Track estimate_accelerator(const AcceleratorLoad& load, const AcceleratorPower& power);

}  // namespace joulery
