#include "act/power_knobs.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "act/hwmon_knobs.h"
#include "act/nvml_knobs.h"
#include "act/powercap_knobs.h"
#include "core/units.h"
#include "sense/surroundings.h"

namespace joulery {
namespace {

constexpr void (*kinds[])(const Machine&, KnobFile::Access, PowerKnobs&) = {add_powercap_knobs, add_nvml_knobs, add_hwmon_knobs};

constexpr double most_watts = 1e6;
constexpr const char* example = "--power-limit node/gpu/0=250W,node/cpu/package-0=90W";

Result<LimitRequest> parse_one(std::string_view text) {
  const std::size_t equals = text.rfind('=');
  const std::string_view address = text.substr(0, equals == std::string_view::npos ? 0 : equals);
  const std::size_t colon = address.find(':');
  const std::string component(address.substr(0, colon));
  const std::string name(colon == std::string_view::npos ? "" : address.substr(colon + 1));
  if (component.empty() || (colon != std::string_view::npos && name.empty()))
    return fail(ErrorCode::usage, "not a power limit: '" + std::string(text) + "'", "", example);
  const auto power = parse_power(text.substr(equals + 1));
  if (!power) return fail(ErrorCode::usage, power.error().what, component, power.error().hint);
  if (!(to_watts(*power) > 0 && to_watts(*power) <= most_watts))
    return fail(ErrorCode::usage, "a power limit lies above 0 W and at most 1 MW", component, example);
  return LimitRequest{Component(component), name, to_whole(to_watts(*power) * 1e6)};
}

}  // namespace

PowerKnobs find_power_knobs(const Machine& machine, KnobFile::Access access) {
  PowerKnobs knobs;
  for (const auto add : kinds) add(machine, access, knobs);
  return knobs;
}

Result<std::vector<LimitRequest>> parse_limit_requests(std::string_view text) {
  std::vector<LimitRequest> requests;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    auto request = parse_one(text.substr(at, end - at));
    if (!request) return std::unexpected(request.error());
    const auto same = [&](const LimitRequest& other) { return other.component == request->component && other.name == request->name; };
    if (std::ranges::any_of(requests, same))
      return fail(ErrorCode::usage, "this power limit is asked for twice", limit_address(request->component, request->name));
    requests.push_back(*std::move(request));
    at = end + 1;
  }
  return requests;
}

Error why_no_limits(const Machine& machine) {
  const Surroundings around = read_surroundings(machine);
  if (around.virtual_machine)
    return {ErrorCode::not_found,
            "a virtual machine" + (around.hypervisor.empty() ? "" : " (" + around.hypervisor + ")") + ": its host alone limits power", "",
            "joulery power  # on the host"};
  if (around.container)
    return {ErrorCode::not_found, "a container that does not show the power limits of its host", "", "joulery power  # on the host"};
  return {ErrorCode::not_found, "neither RAPL (/sys/class/powercap), nor NVIDIA's driver, nor a hwmon chip shows a power limit here", "",
          "sudo modprobe intel_rapl_msr  # for the limits of most processors"};
}

}  // namespace joulery
