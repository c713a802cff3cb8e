// The run's energy by process of the child tree, in proportion to CPU time as the scheduler counts it.
//
// What CPU time can say something about is the energy of the CPUs, the memory and the rest of the node, less what the
// node would have used idle; accelerators are a line of their own. Lines that are no process have pid 0.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/quantity.h"
#include "core/time.h"
#include "watch/process_sample.h"
#include "watch/short_lived.h"

namespace joulery {

struct ProcessShare {
  std::int32_t pid = 0;            // 0: not a process but a remainder, named
  std::string name;
  Duration cpu;
  std::optional<Energy> energy;
};

struct SharedEnergy {
  std::optional<Energy> host;          // counted rows that are no accelerator
  std::optional<Energy> accelerators;  // counted rows below node/gpu
  std::optional<Energy> idle;          // what the host would have used idle, where that is known
  Duration busy;                       // CPU time of all processes of the node; 0 where not known
};

// `samples` by process, then time. `unseen`: CPU time of children that came and went between two looks; `short_lived`: those of
// them that are known by name, a line for each.
// The energies of all lines sum to host + accelerators to the microjoule. Largest CPU time first, remainders last.
std::vector<ProcessShare> share_by_process(std::span<const ProcessSample> samples, Duration unseen,
                                           std::span<const ShortLivedSum> short_lived, Interval run, const SharedEnergy& energy);

}  // namespace joulery
