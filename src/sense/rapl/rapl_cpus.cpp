#include "sense/rapl/rapl_cpus.h"

#include <map>
#include <set>
#include <tuple>

#include "sense/rapl/perf_events.h"

namespace joulery {
namespace {

struct Place {
  int cpu;
  std::int64_t package, die, core;
};

std::vector<Place> places(const Machine& machine) {
  std::vector<Place> all;
  for (const int cpu : parse_cpu_list(machine.read_or_empty("/sys/devices/system/cpu/online"))) {
    const std::string topology = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    const auto id = [&](const char* what) { return machine.read_integer(topology + what).value_or(0); };
    all.push_back({cpu, id("physical_package_id"), id("die_id"), id("core_id")});
  }
  return all;
}

std::string package_name(std::int64_t package) { return "package-" + std::to_string(package); }

}  // namespace

std::vector<RaplCpu> one_cpu_per_package(const Machine& machine, bool by_die) {
  std::vector<RaplCpu> chosen;
  const std::vector<Place> all = places(machine);
  std::map<std::int64_t, std::set<std::int64_t>> dies;
  for (const Place& place : all) dies[place.package].insert(by_die ? place.die : 0);
  std::set<std::pair<std::int64_t, std::int64_t>> seen;
  for (const Place& place : all) {
    if (!seen.insert({place.package, by_die ? place.die : 0}).second) continue;
    const std::string die = dies[place.package].size() > 1 ? "-die-" + std::to_string(place.die) : "";
    chosen.push_back({place.cpu, package_name(place.package) + die});
  }
  return chosen;
}

std::vector<RaplCpu> one_cpu_per_core(const Machine& machine) {
  std::vector<RaplCpu> chosen;
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> seen;
  for (const Place& place : places(machine))
    if (seen.insert({place.package, place.die, place.core}).second) chosen.push_back({place.cpu, package_name(place.package)});
  return chosen;
}

}  // namespace joulery
