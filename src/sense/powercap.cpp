#include "sense/powercap.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "sense/live_file.h"
#include "sense/obstacles.h"
#include "sense/powercap_zones.h"
#include "sense/proc_files.h"
#include "sense/surroundings.h"

namespace joulery {
namespace {

constexpr std::string_view kind = "rapl.powercap";
constexpr double microjoule = 1e-6;

// What a zone of a given name is. `max_power` is used where the kernel tells no rating.
struct ZoneRule {
  std::string_view name;      // the zone's name, or its beginning where it ends in '-'
  bool inside_package;        // where the zone is a part of its package's power
  Scope scope;
  bool always_burns;          // cores and uncores may be gated off, and psys is absent from some boards
  double relative_error;      // half-width of 90 %
  double max_power;           // watts
};

// Errors: RAPL has been validated within a few per cent of external meters for packages since Haswell and less closely for
// memory; no bound is published for every processor, so these are set wide. Greatest powers: twice the largest package
// sold (500 W), twice a socket full of memory, and a platform of several sockets.
constexpr ZoneRule zone_rules[] = {
    {"package-", false, Scope::component, true, 0.05, 1000},
    {"core", true, Scope::component, false, 0.05, 1000},
    {"uncore", true, Scope::component, false, 0.10, 1000},
    {"dram", false, Scope::component, true, 0.10, 500},
    {"psys", false, Scope::platform, false, 0.10, 10000},
};
// A name that is not known may overlap anything: shown apart, never added.
constexpr ZoneRule unknown_rule{"", false, Scope::platform, false, 0.10, 10000};

// Times the rating (constraint_0_max_power_uw, the thermal design power) that a package may really burn: desktop boards
// ship with the limits opened, and up to 2.9 times the rating has been seen. A bound that is too low would throw real
// joules away, one that is too high only lets a smaller glitch pass.
constexpr double over_rating = 3.0;
constexpr double least_rating_watts = 3.0, greatest_rating_watts = 2000.0;

const ZoneRule& rule_for(std::string_view name) {
  for (const ZoneRule& rule : zone_rules)
    if (rule.name == name || (rule.name.ends_with('-') && name.starts_with(rule.name)) ||
        (rule.name == "psys" && name.starts_with("psys-")))
      return rule;
  return unknown_rule;
}

bool is_package(const PowercapZone& zone) { return zone.name.starts_with("package-"); }

// The package that a zone is nested in, or null.
const PowercapZone* package_of(const PowercapZone& zone, const std::vector<PowercapZone>& zones) {
  for (int at = zone.parent; at >= 0; at = zones[at].parent)
    if (is_package(zones[at])) return &zones[at];
  return nullptr;
}

Component component_of(const PowercapZone& zone, const PowercapZone* package) {
  const std::string in_package = package ? "/" + package->name : "";
  if (is_package(zone)) return Component("node/cpu/" + zone.name);
  if (zone.name == "dram") return Component("node/dram" + in_package);
  if (zone.name.starts_with("psys")) return Component("node/platform" + zone.name.substr(4));
  return Component("node/cpu" + in_package + "/" + zone.name);
}

Power greatest_power(const Machine& machine, const PowercapZone& zone, const ZoneRule& rule) {
  const auto rating = machine.read_integer(zone.folder + "/constraint_0_max_power_uw");  // fails or is empty in many subzones
  if (!rating) return watts(rule.max_power);
  const double rated_watts = static_cast<double>(*rating) * 1e-6;
  if (rated_watts < least_rating_watts || rated_watts > greatest_rating_watts) return watts(rule.max_power);
  return watts(rated_watts * over_rating);
}

Channel channel_for(const Machine& machine, const PowercapZone& zone, const std::vector<PowercapZone>& zones) {
  const ZoneRule& rule = rule_for(zone.name);
  const PowercapZone* package = package_of(zone, zones);
  Channel channel;
  channel.component = component_of(zone, package);
  channel.name = package ? package->name + "/" + zone.name : zone.name;
  channel.unit = microjoule;
  const auto range = machine.read_integer(zone.folder + "/max_energy_range_uj");
  channel.range = range && *range > 0 ? static_cast<std::uint64_t>(*range) : 0;
  channel.update_period = milliseconds(1);
  channel.scope = rule.scope;
  channel.accuracy.relative = rule.relative_error;
  channel.max_power = greatest_power(machine, zone, rule);
  channel.always_burns = rule.always_burns;
  return channel;
}

class PowercapMeter final : public Meter {
 public:
  void add(Channel channel, std::string path) {
    channels_.push_back(std::move(channel));
    files_.emplace_back(std::move(path));
  }
  std::span<const Channel> channels() const override { return channels_; }
  void read(Sink& sink) override {
    const MonoTime now = mono_coarse();
    for (LiveFile& file : files_) report(sink, file.read_count(now));
  }

 private:
  std::vector<Channel> channels_;
  std::vector<LiveFile> files_;
};

// On AMD the kernel reads the core counter of one core of the package (MSR_AMD_CORE_ENERGY_STATUS is per core) and calls
// it "core"; perf's power_core events have every core.
bool is_one_core(const PowercapZone& zone, std::string_view vendor) {
  return zone.name == "core" && (vendor == "AuthenticAMD" || vendor == "HygonGenuine");
}

// Why a zone must not be counted; nothing where it must.
std::optional<Obstacle> left_out(const PowercapZone& zone, const Channel& channel, std::span<const Channel> taken, std::string_view vendor) {
  if (is_one_core(zone, vendor)) return Obstacle::powercap_one_core;
  if (std::ranges::find(taken, channel.component, &Channel::component) == taken.end()) return std::nullopt;
  return zone.mirror ? Obstacle::powercap_mirror : Obstacle::powercap_same_name;
}

Finding zone_finding(const std::string& device, const std::string& path, std::expected<std::int64_t, MissingReason> reading) {
  if (reading) return readable_finding(kind, device);
  if (reading.error() == MissingReason::permission) return blocked_finding(kind, device, Obstacle::powercap_root_only, path);
  return blocked_finding(kind, device, Obstacle::powercap_unreadable, path + ": " + std::string(describe(reading.error())));
}

Finding nothing_found(const Machine& machine) {
  const Surroundings around = read_surroundings(machine);
  if (around.virtual_machine) return absent_finding(kind, "", Obstacle::no_rapl_in_vm, around.hypervisor);
  return absent_finding(kind, "", around.container ? Obstacle::powercap_hidden_in_container : Obstacle::powercap_driver_missing);
}

bool measures_dram(std::span<const Channel> channels) {
  const Component dram("node/dram");
  return std::ranges::any_of(channels, [&](const Channel& c) { return c.component == dram || c.component.inside(dram); });
}

}  // namespace

Discovery probe_powercap(const Machine& machine) {
  Discovery discovery;
  const std::vector<PowercapZone> zones = read_powercap_zones(machine);
  const std::string vendor = parse_cpuinfo(machine.read_or_empty("/proc/cpuinfo", 4096)).vendor;
  auto meter = std::make_unique<PowercapMeter>();
  bool any_readable = false;
  for (const PowercapZone& zone : zones) {
    Channel channel = channel_for(machine, zone, zones);
    const std::string path = machine.path(zone.folder + "/energy_uj");
    if (const auto why = left_out(zone, channel, meter->channels(), vendor)) {
      discovery.findings.push_back(blocked_finding(kind, zone.id, *why));
      continue;
    }
    const auto first = LiveFile(path).read_count(mono_coarse());
    any_readable = any_readable || first;
    discovery.findings.push_back(zone_finding(channel.name, path, first));
    meter->add(std::move(channel), path);
  }
  if (zones.empty()) discovery.findings.push_back(nothing_found(machine));
  else if (!measures_dram(meter->channels())) discovery.findings.push_back(absent_finding(kind, "dram", Obstacle::no_dram_domain));
  if (any_readable) discovery.devices.push_back({std::string(kind), "powercap", false, std::move(meter)});
  return discovery;
}

}  // namespace joulery
