#include "sense/rapl/rapl_domain.h"

#include "sense/component_name.h"

namespace joulery {
namespace {

// Errors: RAPL has been validated within a few per cent of external meters for packages since Haswell and less closely for
// memory; no bound is published for every processor, so these are set wide. Greatest powers: twice the largest package
// sold (500 W), twice a socket full of memory, and a platform of several sockets.
constexpr RaplDomain domains[] = {
    {"package-", Scope::component, true, 0.05, 1000}, {"core", Scope::component, false, 0.05, 1000},
    {"uncore", Scope::component, false, 0.10, 1000},  {"dram", Scope::component, true, 0.10, 500},
    {"psys", Scope::platform, false, 0.10, 10000},    {"psys-", Scope::platform, false, 0.10, 10000},
};
constexpr RaplDomain unknown_domain{"", Scope::platform, false, 0.10, 10000};

// The kernel refreshes the counters about once a millisecond.
constexpr Duration refresh = milliseconds(1);

}  // namespace

const RaplDomain& rapl_domain(std::string_view name) {
  for (const RaplDomain& domain : domains)
    if (domain.name == name || (domain.name.ends_with('-') && name.starts_with(domain.name))) return domain;
  return unknown_domain;
}

Component rapl_component(std::string_view name, std::string_view package) {
  const std::string in_package = package.empty() ? "" : "/" + component_part(package);
  if (name.starts_with("package-")) return Component("node/cpu/" + component_part(name));
  if (name == "dram") return Component("node/dram" + in_package);
  if (name == "psys" || name.starts_with("psys-")) return Component("node/platform" + component_part(name.substr(4)));
  return Component("node/cpu" + in_package + "/" + component_part(name));
}

Channel rapl_channel(std::string_view name, std::string_view package) {
  const RaplDomain& domain = rapl_domain(name);
  Channel channel;
  channel.component = rapl_component(name, package);
  channel.name = package.empty() ? std::string(name) : std::string(package) + "/" + std::string(name);
  channel.update_period = refresh;
  channel.scope = domain.scope;
  channel.accuracy.relative = domain.relative_error;
  channel.max_power = watts(domain.max_power);
  channel.always_burns = domain.always_burns;
  return channel;
}

}  // namespace joulery
