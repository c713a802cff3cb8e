// From what the probes found to the parts of the node that nothing measures.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "app/measurement.h"

namespace joulery {
namespace {

bool tells_energy(const Channel& channel) { return channel.measurand == Measurand::energy || channel.measurand == Measurand::power; }

bool measured(const Discovery& discovery, const Component& part) {
  return std::ranges::any_of(discovery.devices, [&](const Device& device) {
    return std::ranges::any_of(device.meter->channels(), [&](const Channel& channel) {
      return tells_energy(channel) && channel.scope == Scope::component && (channel.component == part || channel.component.inside(part));
    });
  });
}

// A part that every node has, with the kinds of meter that would tell it, best first.
struct ExpectedPart {
  const char* path;
  std::array<std::string_view, 2> kinds;
  std::string_view device;    // what findings about this part name; "" where they name the kind alone
  std::string_view otherwise; // the reason where no finding gives one
};

constexpr ExpectedPart expected_parts[] = {
    {"node/cpu", {"rapl.powercap", "rapl.perf"}, "", "no meter of the processors"},
    {"node/dram", {"rapl.powercap", "rapl.perf"}, "dram", "no meter of the memory"},
    {"node/rest", {}, "", "no meter of the whole node"},
};

std::string reason_for(const ExpectedPart& part, const Discovery& discovery) {
  for (const bool named : {true, false})
    for (const std::string_view kind : part.kinds)
      for (const Finding& finding : discovery.findings) {
        const bool about = part.device.empty() || !named ? true : finding.device.starts_with(part.device);
        if (!kind.empty() && finding.kind == kind && about && !finding.readable && !finding.reason.empty()) return finding.reason;
      }
  return std::string(part.otherwise);
}

// Devices that are there and cannot be read, of kinds that measure something that burns.
constexpr std::pair<std::string_view, std::string_view> unreadable_places[] = {
    {"rapl.powercap", "node/cpu/"}, {"rapl.msr", "node/cpu/"}, {"nvml", "node/gpu/"}};

// Cards that are there and that no meter tells anything of, whichever way: their kind of meter says why.
struct Vendor {
  std::string_view kind, cards;
};
constexpr Vendor vendors[] = {{"amdsmi", "node/gpu/amd"}, {"hlml", "node/gpu/gaudi"}, {"neuron", "node/gpu/neuron"}};

bool told_of(const Discovery& discovery, std::string_view cards) {
  return std::ranges::any_of(discovery.devices, [&](const Device& device) {
    return std::ranges::any_of(device.meter->channels(), [&](const Channel& c) { return c.component.path().starts_with(cards); });
  });
}

void add_untold_cards(const Discovery& discovery, std::vector<MissingPart>& missing) {
  for (const Vendor& vendor : vendors) {
    const auto why =
        std::ranges::find_if(discovery.findings, [&](const Finding& f) { return f.kind == vendor.kind && f.found && !f.readable; });
    if (why != discovery.findings.end() && !told_of(discovery, vendor.cards))
      missing.push_back({Component(std::string(vendor.cards)), why->reason});
  }
}

}  // namespace

std::vector<MissingPart> missing_parts(const Discovery& discovery) {
  std::vector<MissingPart> missing;
  for (const ExpectedPart& part : expected_parts) {
    const bool whole_node = std::string_view(part.path) == "node/rest" && std::ranges::any_of(discovery.devices, [](const Device& device) {
                              return std::ranges::any_of(device.meter->channels(),
                                                         [](const Channel& c) { return tells_energy(c) && c.component.path() == "node"; });
                            });
    if (!whole_node && !measured(discovery, Component(part.path))) missing.push_back({Component(part.path), reason_for(part, discovery)});
  }
  for (const Finding& finding : discovery.findings)
    for (const auto& [kind, place] : unreadable_places)
      if (finding.kind == kind && finding.found && !finding.readable && (finding.device.starts_with("package-") || kind == "nvml"))
        if (const Component part(std::string(place) + finding.device); !measured(discovery, part))
          missing.push_back({part, finding.reason});
  add_untold_cards(discovery, missing);
  // Where no package at all can be read, the line for all processors says it once.
  const bool all_processors = std::ranges::any_of(missing, [](const MissingPart& part) { return part.component.path() == "node/cpu"; });
  if (all_processors) std::erase_if(missing, [](const MissingPart& part) { return part.component.inside(Component("node/cpu")); });
  return missing;
}

}  // namespace joulery
