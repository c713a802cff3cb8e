// What the domains of RAPL contain and how far they may be trusted, whichever way they are read (powercap, perf).
#pragma once

#include <string>
#include <string_view>

#include "sense/channel.h"

namespace joulery {

struct RaplDomain {
  std::string_view name;  // as powercap calls it; a name that ends in '-' stands for all that begin so
  Scope scope;
  bool always_burns;      // false: may be gated off (cores, graphics), or is absent from the board (psys)
  double relative_error;  // half-width of 90 %
  double max_power;       // watts, where no rating is known
};

// The domain with this zone name. A name that is not known may overlap anything: it is shown apart and never added.
const RaplDomain& rapl_domain(std::string_view name);

// Where a domain burns: core and uncore are parts of their package; a package does not contain its memory; psys
// overlaps everything. `package` is "package-0", or "" for a domain outside of packages.
Component rapl_component(std::string_view name, std::string_view package);

// A counter of this domain with everything but its unit, range and rating.
Channel rapl_channel(std::string_view name, std::string_view package);

}  // namespace joulery
