// Which host, and which boot of it: what tells recordings of one machine from those of several.
#pragma once

#include <string>

namespace joulery {

struct HostIdentity {
  std::string name;     // as the host calls itself; "" where not known
  std::string boot_id;  // drawn anew by the kernel at each boot, the same in all containers: one monotonic clock; "" where not known
  friend bool operator==(const HostIdentity&, const HostIdentity&) = default;
};

}  // namespace joulery
