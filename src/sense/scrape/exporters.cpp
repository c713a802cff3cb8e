#include "sense/scrape/exporters.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

namespace joulery {
namespace {

// Where a series burns, from its labels.
enum class Place { gpu, zone_in_label, zone_in_name, whole };

struct Row {
  std::string_view metric;  // "node_rapl_*_joules_total": the zone stands at the '*'
  Place place;
  Measurand measurand;
  double si;
  double step;  // of si, what one count is
  std::string_view device_label;  // what tells one device from another
};
// Sources: dcgm-exporter's default counters (energy in mJ, power in W), Kepler's and node_exporter's metric references. RAPL
// zones are told in joules with six decimals.
constexpr Row rows[] = {
    {"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", Place::gpu, Measurand::energy, 1e-3, 1, "UUID"},
    {"DCGM_FI_DEV_POWER_USAGE", Place::gpu, Measurand::power, 1, 1e-3, "UUID"},
    {"kepler_node_cpu_joules_total", Place::zone_in_label, Measurand::energy, 1, 1e-6, "path"},
    {"kepler_node_gpu_joules_total", Place::gpu, Measurand::energy, 1, 1e-3, "gpu_uuid"},
    {"kepler_platform_watts", Place::whole, Measurand::power, 1, 1e-3, ""},
    {"node_rapl_joules_total", Place::zone_in_label, Measurand::energy, 1, 1e-6, "path"},
    {"node_rapl_*_joules_total", Place::zone_in_name, Measurand::energy, 1, 1e-6, "path"},
};

// The text at the '*' of a pattern, "" for a pattern without one; nothing where the name does not fit.
std::optional<std::string_view> fit(std::string_view pattern, std::string_view name) {
  const auto star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == name ? std::optional(std::string_view()) : std::nullopt;
  const std::string_view before = pattern.substr(0, star), after = pattern.substr(star + 1);
  if (name.size() <= before.size() + after.size() || !name.starts_with(before) || !name.ends_with(after)) return std::nullopt;
  return name.substr(before.size(), name.size() - before.size() - after.size());
}

const Row* row_of(std::string_view name) {
  const auto found = std::ranges::find_if(rows, [&](const Row& row) { return fit(row.metric, name).has_value(); });
  return found == std::end(rows) ? nullptr : &*found;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.size() < 6 && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

std::string_view zone_of(const Row& row, const PrometheusSample& sample) {
  if (row.place == Place::zone_in_name) return *fit(row.metric, sample.name);
  const std::string_view zone = sample.label("rapl_zone");
  return zone.empty() ? sample.label("zone") : zone;
}

// Which socket a zone belongs to: a package's own number, or that of the package whose path its path continues. The number in
// the path is the kernel's order of finding, not the socket.
class Sockets {
 public:
  explicit Sockets(const PrometheusPage& page) {
    for (const PrometheusSample& sample : page.samples) {
      const Row* row = row_of(sample.name);
      if (!row || row->place == Place::gpu || row->place == Place::whole) continue;
      const std::string_view path = sample.label("path"), zone = zone_of(*row, sample);
      if (!path.empty() && zone.starts_with("package")) packages_[std::string(path)] = number_of(zone, sample);
    }
  }
  std::string of(std::string_view zone, const PrometheusSample& sample) const {
    const std::string_view path = sample.label("path");
    for (const auto& [package, number] : packages_)
      if (path == package || (path.starts_with(package) && path.substr(package.size()).starts_with(':'))) return number;
    return number_of(zone, sample);
  }

 private:
  // "package-1" says so itself; else the label `index`, else the number in the path, else the only one.
  static std::string number_of(std::string_view zone, const PrometheusSample& sample) {
    if (const auto dash = zone.rfind('-'); dash != std::string_view::npos && is_number(zone.substr(dash + 1)))
      return std::string(zone.substr(dash + 1));
    if (is_number(sample.label("index"))) return std::string(sample.label("index"));
    const std::string_view path = sample.label("path");
    const auto colon = path.find(':');
    if (colon == std::string_view::npos) return "0";
    const std::string_view number = path.substr(colon + 1, path.find(':', colon + 1) - colon - 1);
    return is_number(number) ? std::string(number) : "0";
  }
  std::map<std::string, std::string> packages_;
};

// The component of a sample below the section's own; nothing where the table does not know the zone.
std::optional<ScrapedValue> placed(const Row& row, const PrometheusSample& sample, const Sockets& sockets) {
  ScrapedValue told;
  told.metric = sample.name;
  told.measurand = row.measurand;
  told.scaling = {{row.measurand, row.si}, 1, row.step};
  if (row.place == Place::whole) return told;
  if (row.place == Place::gpu) {
    if (!is_number(sample.label("gpu"))) return std::nullopt;
    told.component = fmt::format("gpu/{}", sample.label("gpu"));
    return told;
  }
  const std::string_view zone = zone_of(row, sample);
  if (sample.label("path").contains("mmio")) return std::nullopt;  // shows a package a second time
  const std::string socket = sockets.of(zone, sample);
  if (zone.starts_with("package")) told.component = "cpu/package-" + socket;
  if (zone == "core" || zone == "uncore") told.component = fmt::format("cpu/package-{}/{}", socket, zone);
  if (zone == "dram") told.component = "dram/package-" + socket;
  if (zone == "psys") told.component = "platform", told.platform = true;
  return told.component.empty() ? std::nullopt : std::optional(told);
}

bool matches(const PrometheusSample& sample, const ScrapeChoice& choice) {
  return std::ranges::all_of(choice.labels, [&](const auto& wanted) {
    return std::ranges::any_of(sample.labels, [&](const auto& label) { return label == wanted; });
  });
}

// What tells the device of a sample from others: two samples of one device are copies.
std::string device_of(const Row* row, const PrometheusSample& sample) {
  std::string device(sample.label("Hostname"));
  const std::string_view own = row ? sample.label(row->device_label) : std::string_view();
  if (!own.empty()) return device + "|" + std::string(own);
  for (const auto& [name, value] : sample.labels)
    if (!name.starts_with("GPU_I_")) device += "|" + name + "=" + value;
  return device;
}

RemoteValue value_of(const PrometheusSample& sample, const Scaling& scaling) {
  if (std::isnan(sample.value)) return std::unexpected(MissingReason::rubbish);
  if (sample.name.starts_with("DCGM_") && is_dcgm_blank(sample.value, scaling.unit.measurand != Measurand::energy))
    return std::unexpected(MissingReason::not_supported);
  return scaling.counts(sample.value);
}

}  // namespace

bool is_known_metric(std::string_view name) { return row_of(name) != nullptr; }

std::expected<std::vector<ScrapedValue>, std::string> scraped_values(const PrometheusPage& page, const ScrapeChoice& choice) {
  const Sockets sockets(page);
  std::vector<ScrapedValue> told;
  std::vector<std::string> devices;  // runs beside `told`
  for (const PrometheusSample& sample : page.samples) {
    if (!matches(sample, choice) || (!choice.metric.empty() && sample.name != choice.metric)) continue;
    const Row* row = row_of(sample.name);
    std::optional<ScrapedValue> one;
    if (!choice.metric.empty())
      one = ScrapedValue{sample.name, "", false, choice.scaling.unit.measurand, choice.scaling, {}};
    else if (row)
      one = placed(*row, sample, sockets);
    if (!one) continue;
    one->value = value_of(sample, one->scaling);
    const std::string device = device_of(row, sample);
    const auto known =
        std::ranges::find_if(told, [&](const ScrapedValue& t) { return t.metric == one->metric && t.component == one->component; });
    if (known == told.end()) {
      told.push_back(*std::move(one));
      devices.push_back(device);
    } else if (devices[static_cast<std::size_t>(known - told.begin())] != device) {
      return std::unexpected(fmt::format("several series of {} are of different devices", sample.name));
    } else if (!known->value) {
      known->value = one->value;
    }
  }
  return told;
}

// A double holds the 64-bit blanks as 2^63.
bool is_dcgm_blank(double value, bool may_be_32_bits) {
  const auto is_one_of = [value](double first) { return value >= first && value <= first + 15; };
  return (may_be_32_bits && is_one_of(0x7ffffff0)) || is_one_of(140737488355328.0) || value >= 9223372036854775000.0;
}

}  // namespace joulery
