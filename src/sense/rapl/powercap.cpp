#include "sense/rapl/powercap.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "sense/host/proc_files.h"
#include "sense/live_file.h"
#include "sense/obstacles.h"
#include "sense/rapl/powercap_zones.h"
#include "sense/rapl/rapl_domain.h"
#include "sense/rapl/rapl_units.h"
#include "sense/surroundings.h"

namespace joulery {
namespace {

constexpr std::string_view kind = "rapl.powercap";
constexpr double microjoule = 1e-6;

// Times the rating (constraint_0_max_power_uw, the thermal design power) that a package may really burn: desktop boards
// ship with the limits opened, where a part rated 125 W draws well over 250 W. A bound that is too low would throw real
// joules away, one that is too high only lets a smaller glitch pass.
constexpr double over_rating = 3.0;
constexpr double least_rating_watts = 3.0, greatest_rating_watts = 2000.0;

bool is_package(const PowercapZone& zone) { return zone.name.starts_with("package-"); }

// The package that a zone is nested in, or null.
const PowercapZone* package_of(const PowercapZone& zone, const std::vector<PowercapZone>& zones) {
  for (int at = zone.parent; at >= 0; at = zones[at].parent)
    if (is_package(zones[at])) return &zones[at];
  return nullptr;
}

Power greatest_power(const Machine& machine, const PowercapZone& zone, Power without_rating) {
  const auto rating = machine.read_integer(zone.folder + "/constraint_0_max_power_uw");  // fails or is empty in many subzones
  if (!rating) return without_rating;
  const double rated_watts = static_cast<double>(*rating) * 1e-6;
  if (rated_watts < least_rating_watts || rated_watts > greatest_rating_watts) return without_rating;
  return watts(rated_watts * over_rating);
}

Channel channel_for(const Machine& machine, const PowercapZone& zone, const std::vector<PowercapZone>& zones) {
  const PowercapZone* package = package_of(zone, zones);
  Channel channel = rapl_channel(zone.name, package ? std::string_view(package->name) : std::string_view());
  channel.unit = microjoule;
  const auto range = machine.read_integer(zone.folder + "/max_energy_range_uj");
  channel.range = range && *range > 0 ? static_cast<std::uint64_t>(*range) : 0;
  channel.max_power = greatest_power(machine, zone, channel.max_power);
  return channel;
}

class PowercapMeter final : public Meter {
 public:
  void add(Channel channel, std::string path) {
    channels_.push_back(std::move(channel));
    files_.emplace_back(std::move(path));
  }
  std::span<const Channel> channels() const override { return channels_; }
  [[gnu::hot]] void read(Sink& sink) override {
    const MonoTime now = sink.last();
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
std::optional<Obstacle> left_out(const PowercapZone& zone, const Channel& channel, std::span<const Channel> taken,
                                 std::string_view vendor) {
  if (is_one_core(zone, vendor)) return Obstacle::powercap_one_core;
  if (std::ranges::find(taken, channel.component, &Channel::component) == taken.end()) return std::nullopt;
  return zone.mirror ? Obstacle::powercap_mirror : Obstacle::powercap_same_name;
}

Finding zone_finding(const std::string& device, const std::string& path, std::expected<std::int64_t, MissingReason> reading) {
  if (reading) return readable_finding(kind, device);
  if (reading.error() == MissingReason::permission) return blocked_finding(kind, device, Obstacle::powercap_root_only, path);
  return blocked_finding(kind, device, Obstacle::powercap_unreadable, path + ": " + std::string(describe(reading.error())));
}

constexpr Advice psys_unit{
    "this kernel takes the unit of this processor's platform counter from the wrong register: it counts whole joules, and what is shown "
    "here is too little by the ratio of the units",
    "sudo apt-get dist-upgrade  # a kernel that knows this processor"};

// A readable zone whose unit contradicts its processor is told: its joules are wrong by that factor.
void check_unit(const CpuInfo& cpu, const Channel& channel, Finding& finding) {
  if (!finding.readable) return;
  const double range_joules = static_cast<double>(channel.range) * channel.unit;
  const std::string& path = channel.component.path();
  const auto tell = [&](const Advice& what) {
    finding.reason = what.reason;
    finding.remedy = what.remedy;
  };
  if (path.starts_with("node/dram") && rapl_dram_unit_error(cpu.vendor, cpu.family, cpu.model, range_joules))
    tell(advice(Obstacle::powercap_dram_unit));
  if (path.starts_with("node/platform") && rapl_psys_unit_error(cpu.vendor, cpu.family, cpu.model, range_joules)) tell(psys_unit);
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
  const CpuInfo cpu = parse_cpuinfo(machine.read_or_empty("/proc/cpuinfo", 4096));
  auto meter = std::make_unique<PowercapMeter>();
  bool any_readable = false;
  for (const PowercapZone& zone : zones) {
    if (zone.name.empty()) {
      discovery.findings.push_back(blocked_finding(kind, zone.id, Obstacle::powercap_unreadable, machine.path(zone.folder + "/name")));
      continue;
    }
    Channel channel = channel_for(machine, zone, zones);
    const std::string path = machine.path(zone.folder + "/energy_uj");
    if (const auto why = left_out(zone, channel, meter->channels(), cpu.vendor)) {
      discovery.findings.push_back(blocked_finding(kind, zone.id, *why));
      continue;
    }
    const auto first = LiveFile(path).read_count(mono_now());
    any_readable = any_readable || first;
    discovery.findings.push_back(zone_finding(channel.name, path, first));
    check_unit(cpu, channel, discovery.findings.back());
    meter->add(std::move(channel), path);
  }
  if (zones.empty())
    discovery.findings.push_back(nothing_found(machine));
  else if (!measures_dram(meter->channels()))
    discovery.findings.push_back(absent_finding(kind, "dram", Obstacle::no_dram_domain));
  if (any_readable) discovery.devices.push_back({std::string(kind), "powercap", false, std::move(meter)});
  return discovery;
}

}  // namespace joulery
