#include "sense/redfish/redfish_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sense/remote/meter_unit.h"

namespace joulery {
namespace {

constexpr Scaling milliwatts{{Measurand::power, 1}, 1, 1e-3}, millijoules{{Measurand::energy, 1}, 1, 1e-3};
constexpr std::size_t most_sensors = 8;

// A page that is not there, or that this user may not see, is none; anything else that goes wrong is for the caller.
bool is_absent(const Trouble& trouble) { return trouble.reason == MissingReason::not_supported; }

bool may_tell_total_power(const std::string& path) {
  std::string leaf = path.substr(path.rfind('/') + 1);
  std::ranges::transform(leaf, leaf.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  const bool whole = leaf.contains("total") || leaf.contains("sys") || leaf.contains("chassis") || leaf.contains("server");
  return whole && (leaf.contains("power") || leaf.contains("pwr") || leaf.contains("watt"));
}

}  // namespace

RedfishSource::RedfishSource(RedfishSession session, RemoteSettings remote, std::string chassis)
    : session_(std::move(session)), remote_(std::move(remote)), wanted_chassis_(std::move(chassis)) {}

std::vector<Channel> RedfishSource::channels() const {
  std::vector<Channel> channels{channel_of(remote_, milliwatts)};
  if (counts_energy_) channels.push_back(channel_of(remote_, millijoules));
  return channels;
}

Answer<RemoteAnswer> RedfishSource::ask(Duration limit) {
  const MonoTime end = mono_now() + limit;
  if (const auto learnt = learn(end); !learnt) return std::unexpected(learnt.error());
  const auto reading = read(*place_, end);
  if (!reading) return std::unexpected(reading.error());
  RemoteAnswer answer;
  answer.values.push_back(reading->watts ? milliwatts.counts(*reading->watts) : std::unexpected(MissingReason::rubbish));
  if (counts_energy_)
    answer.values.push_back(reading->joules ? millijoules.counts(*reading->joules) : std::unexpected(MissingReason::rubbish));
  if (reading->age_s) answer.age = seconds(std::min(*reading->age_s, 1e9));
  return answer;
}

Answer<std::string> RedfishSource::text_of(const std::string& path, MonoTime end) {
  auto page = session_.page(path, end);
  if (!page) return std::unexpected(page.error());
  return std::move(page->body);
}

Answer<void> RedfishSource::learn(MonoTime end) {
  if (place_) return {};
  if (!root_) {
    const auto page = session_.open_page("/redfish/v1/", end);
    if (!page) return std::unexpected(page.error());
    root_ = read_redfish_root(page->body);
    if (!root_) return std::unexpected(Trouble{MissingReason::rubbish, "what answers there is no Redfish service", "check url"});
    session_.set_sessions_path(root_->sessions);
  }
  if (const auto learnt = learn_chassis(end); !learnt) return learnt;
  while (!place_ && next_chassis_ < chassis_.size()) {
    const auto found = try_chassis(chassis_[next_chassis_], end);
    if (!found) return std::unexpected(found.error());
    if (!*found) ++next_chassis_;
  }
  if (!place_)
    if (const auto found = try_reports(end); !found) return std::unexpected(found.error());
  if (place_) return {};
  next_chassis_ = 0;  // a sensor may become ready
  return std::unexpected(Trouble{MissingReason::not_supported, "no page of its chassis tells a power", "set chassis to the one that does"});
}

// All chassis that come into question, those with a computer in them first.
Answer<void> RedfishSource::learn_chassis(MonoTime end) {
  if (!chassis_paths_) {
    const auto page = text_of(root_->chassis, end);
    if (!page) return std::unexpected(page.error());
    chassis_paths_ = read_redfish_members(*page);
    std::ranges::reverse(*chassis_paths_);  // taken from the back
  }
  while (!chassis_paths_->empty()) {
    const auto page = text_of(chassis_paths_->back(), end);
    if (!page && !is_absent(page.error())) return std::unexpected(page.error());
    auto chassis = page ? read_redfish_chassis(*page) : std::nullopt;
    const bool asked_for = chassis && (wanted_chassis_.empty() || chassis->id == wanted_chassis_);
    if (asked_for) chassis_.push_back(*std::move(chassis));
    chassis_paths_->pop_back();
    if (chassis_paths_->empty()) std::ranges::stable_sort(chassis_, {}, [](const RedfishChassis& c) { return !c.has_system; });
  }
  if (chassis_.empty() && !wanted_chassis_.empty())
    return std::unexpected(Trouble{MissingReason::not_supported, fmt::format("it has no chassis '{}'", wanted_chassis_), "check chassis"});
  return {};
}

Answer<bool> RedfishSource::try_chassis(const RedfishChassis& chassis, MonoTime end) {
  for (const auto& [way, path] : {std::pair{Way::environment, chassis.environment}, {Way::power, chassis.power}}) {
    if (path.empty()) continue;
    const auto found = try_place({way, {path}}, end);
    if (!found || *found) return found;
  }
  if (!chassis.sensors.empty()) {
    const auto found = try_sensors(chassis.sensors, end);
    if (!found || *found) return found;
  }
  if (chassis.power_subsystem.empty()) return false;
  return try_supplies(chassis.power_subsystem, end);
}

Answer<bool> RedfishSource::try_place(Place place, MonoTime end) {
  const auto reading = read(place, end);
  if (!reading && is_absent(reading.error())) return false;
  if (!reading) return std::unexpected(reading.error());
  if (!reading->watts) return false;
  counts_energy_ = reading->joules.has_value();
  place_ = std::move(place);
  return true;
}

Answer<bool> RedfishSource::try_sensors(const std::string& collection, MonoTime end) {
  const auto page = text_of(collection, end);
  if (!page && is_absent(page.error())) return false;
  if (!page) return std::unexpected(page.error());
  std::size_t tried = 0;
  for (const std::string& path : read_redfish_members(*page)) {
    if (!may_tell_total_power(path) || tried++ == most_sensors) continue;
    const auto found = try_place({Way::sensor, {path}}, end);
    if (!found || *found) return found;
  }
  return false;
}

// Supplies without a reading of their own when looked for (an empty bay, a spare) are left out; one that loses its reading
// later makes the sum missing.
Answer<bool> RedfishSource::try_supplies(const std::string& subsystem, MonoTime end) {
  Place place{Way::supplies, {}};
  const auto page = text_of(subsystem, end);
  if (!page) return is_absent(page.error()) ? Answer<bool>(false) : std::unexpected(page.error());
  const std::string list = read_redfish_link(*page, "PowerSupplies");
  if (list.empty()) return false;
  const auto members = text_of(list, end);
  if (!members) return is_absent(members.error()) ? Answer<bool>(false) : std::unexpected(members.error());
  for (const std::string& path : read_redfish_members(*members)) {
    const auto supply = text_of(path, end);
    if (!supply && !is_absent(supply.error())) return std::unexpected(supply.error());
    const std::string metrics = supply ? read_redfish_link(*supply, "Metrics") : "";
    if (metrics.empty()) continue;
    const auto reading = text_of(metrics, end);
    if (!reading && !is_absent(reading.error())) return std::unexpected(reading.error());
    if (reading && read_supply_metrics(*reading).watts) place.pages.push_back(metrics);
  }
  if (place.pages.empty()) return false;
  return try_place(std::move(place), end);
}

Answer<bool> RedfishSource::try_reports(MonoTime end) {
  if (root_->telemetry.empty() || !wanted_chassis_.empty()) return false;  // a report does not say which chassis it is of
  const auto service = text_of(root_->telemetry, end);
  if (!service) return is_absent(service.error()) ? Answer<bool>(false) : std::unexpected(service.error());
  const std::string list = read_redfish_link(*service, "MetricReports");
  if (list.empty()) return false;
  const auto members = text_of(list, end);
  if (!members) return is_absent(members.error()) ? Answer<bool>(false) : std::unexpected(members.error());
  for (const std::string& path : read_redfish_members(*members)) {
    const auto found = try_place({Way::report, {path}}, end);
    if (!found || *found) return found;
  }
  return false;
}

Answer<RedfishReading> RedfishSource::read(const Place& place, MonoTime end) {
  RedfishReading sum;
  for (const std::string& path : place.pages) {
    const auto page = session_.page(path, end);
    if (!page) return std::unexpected(page.error());
    switch (place.way) {
      case Way::environment: return read_environment_metrics(page->body);
      case Way::power: return read_power(page->body);
      case Way::sensor: return read_sensor(page->body);
      case Way::report: return read_metric_report(page->body, page->header("date"));
      case Way::supplies: break;
    }
    const RedfishReading supply = read_supply_metrics(page->body);
    if (!supply.watts) return RedfishReading{};
    sum.watts = sum.watts.value_or(0) + *supply.watts;
  }
  return sum;
}

}  // namespace joulery
