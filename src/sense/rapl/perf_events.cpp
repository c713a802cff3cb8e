#include "sense/rapl/perf_events.h"

#include <charconv>
#include <map>
#include <optional>
#include <string>

#include "sense/parse_number.h"
#include "sense/rapl/rapl_domain.h"

namespace joulery {
namespace {

// An event file below events/, and the RAPL domain that it counts.
struct EventName {
  std::string_view unit, event, domain;  // domain "": the package itself
};
constexpr EventName event_names[] = {
    {"power", "energy-pkg", ""},     {"power", "energy-cores", "core"}, {"power", "energy-gpu", "uncore"},
    {"power", "energy-ram", "dram"}, {"power", "energy-psys", "psys"},  {"power_core", "energy-core", "core"},
};

constexpr std::string_view devices = "/sys/bus/event_source/devices/";
constexpr int most_cpus = 1 << 16;

// "2.3283064365386962890625e-10"; nothing where it is no positive number.
std::optional<double> parse_scale(std::string_view text) {
  text = trim_end(text);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value > 0)) return std::nullopt;
  return value;
}

std::int64_t topology(const Machine& machine, int cpu, std::string_view what) {
  const auto id = machine.read_integer("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/" + std::string(what));
  return id && *id >= 0 ? *id : 0;
}

// "package-0", or "package-0-die-1" where packages have several dies with counters of their own, as powercap names them.
class PackageNames {
 public:
  PackageNames(const Machine& machine, const std::vector<int>& cpus) : machine_(machine) {
    for (const int cpu : cpus) ++counters_[topology(machine, cpu, "physical_package_id")];
  }
  std::string of(int cpu) const {
    const std::int64_t package = topology(machine_, cpu, "physical_package_id");
    const std::string name = "package-" + std::to_string(package);
    const auto count = counters_.find(package);
    const bool several = count != counters_.end() && count->second > 1;
    return several ? name + "-die-" + std::to_string(topology(machine_, cpu, "die_id")) : name;
  }

 private:
  const Machine& machine_;
  std::map<std::int64_t, int> counters_;
};

Channel channel_for(const EventName& name, const std::string& package, int cpu, std::size_t psys_before) {
  if (name.unit == "power_core") {
    Channel channel = rapl_channel(name.domain, package);
    channel.component = Component(channel.component.path() + "/cpu-" + std::to_string(cpu));
    channel.name += "/cpu-" + std::to_string(cpu);
    return channel;
  }
  if (name.domain == "psys") return rapl_channel(psys_before == 0 ? "psys" : "psys-" + std::to_string(psys_before), "");
  return name.domain.empty() ? rapl_channel(package, "") : rapl_channel(name.domain, package);
}

void add_event(const Machine& machine, const EventName& name, std::vector<PerfEvent>& events) {
  const std::string unit = std::string(devices) + std::string(name.unit);
  const std::string event = unit + "/events/" + std::string(name.event);
  const std::string description = machine.read_or_empty(event);
  const auto type = machine.read_integer(unit + "/type");
  const auto scale = parse_scale(machine.read_or_empty(event + ".scale"));
  if (description.empty() || !type || !scale || machine.read_or_empty(event + ".unit") != "Joules") return;
  const std::vector<int> cpus = parse_cpu_list(machine.read_or_empty(unit + "/cpumask"));
  const PackageNames packages(machine, name.unit == "power_core" ? std::vector<int>{} : cpus);
  std::size_t psys_before = 0;
  for (const int cpu : cpus) {
    Channel channel = channel_for(name, packages.of(cpu), cpu, psys_before++);
    channel.unit = *scale;
    events.push_back({static_cast<std::uint32_t>(*type), parse_event_config(description), cpu, std::move(channel)});
  }
}

}  // namespace

std::vector<int> parse_cpu_list(std::string_view text) {
  std::vector<int> cpus;
  text = trim_end(text);
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    const std::size_t dash = part.find('-');
    const auto first = parse_whole<int>(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_whole<int>(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last >= most_cpus) return {};
    for (int cpu = *first; cpu <= *last; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

std::uint64_t parse_event_config(std::string_view text) {
  struct Term {
    std::string_view key;
    int shift;
  };
  constexpr Term terms[] = {{"event=0x", 0}, {"umask=0x", 8}};
  std::uint64_t config = 0;
  text = trim_end(text);
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    for (const Term& term : terms)
      if (part.starts_with(term.key)) config |= parse_whole<std::uint64_t>(part.substr(term.key.size()), 16).value_or(0) << term.shift;
  }
  return config;
}

std::vector<PerfEvent> read_perf_events(const Machine& machine) {
  std::vector<PerfEvent> events;
  for (const EventName& name : event_names) add_event(machine, name, events);
  return events;
}

}  // namespace joulery
