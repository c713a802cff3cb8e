// What makes two machines of one kind, beyond the processor: their board and their accelerators. sense/ reads it,
// recordings keep it, factors/ compares it with the kind that a wall model was learnt on.
//
// Invariant: "" means "not told by this machine".
#pragma once

#include <string>
#include <vector>

namespace joulery {

struct MachineKind {
  std::string board;                      // maker and product of the system: "Dell Inc. PowerEdge R750"
  std::vector<std::string> accelerators;  // "10de:2330" for each: PCI vendor and device, sorted
  friend bool operator==(const MachineKind&, const MachineKind&) = default;
};

}  // namespace joulery
