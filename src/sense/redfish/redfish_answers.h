// What a Redfish service's pages say: where to go on, and watts. Pure: text in, values out; whatever a page holds, the answer
// is a value in range or nothing.
//
// A page's links are only taken where they are plain paths of the same service, so that no page leads a login elsewhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace joulery {

struct RedfishRoot {
  std::string chassis, sessions, telemetry;  // paths, "" where the service has none
};
// Nothing where the page is no JSON object with a chassis collection.
std::optional<RedfishRoot> read_redfish_root(std::string_view page);

// The paths of a collection, at most 64.
std::vector<std::string> read_redfish_members(std::string_view page);

struct RedfishChassis {
  std::string id;
  bool has_system = false;  // a computer is in it: not a mere shelf or module
  std::string environment, power, sensors, power_subsystem;  // paths, "" where it has none
};
std::optional<RedfishChassis> read_redfish_chassis(std::string_view page);

// PowerSupplies of a PowerSubsystem, Metrics of a PowerSupply, MetricReports of a TelemetryService: a path, "" where there is none.
std::string read_redfish_link(std::string_view page, std::string_view name);

struct RedfishReading {
  std::optional<double> watts;   // above 0, up to 1 MW; what a switched-off or unready sensor says is nothing
  std::optional<double> joules;  // a counter, where the page has one that is fine enough (EnergyJoules; EnergykWh is not)
  std::optional<double> age_s;   // how old they were, by the device's own clocks; nothing where it does not say
};
// Each gives what the page tells of the whole chassis:
RedfishReading read_environment_metrics(std::string_view page);  // PowerWatts, EnergyJoules
RedfishReading read_power(std::string_view page);                // PowerControl: the entry of the server, never a sum of subsystems
RedfishReading read_sensor(std::string_view page);               // a Sensor that reads power of the chassis or in total, in W
RedfishReading read_supply_metrics(std::string_view page);       // InputPowerWatts of one power supply
// A MetricReport whose values hold the server's power, as number or text; `now` is the Date of the answer, "" where it had none.
RedfishReading read_metric_report(std::string_view page, std::string_view now);

// Seconds since 1970 of "2026-03-01T12:00:00+01:00" and of "Sun, 01 Mar 2026 11:00:00 GMT".
std::optional<std::int64_t> parse_iso_time(std::string_view text);
std::optional<std::int64_t> parse_http_date(std::string_view text);

}  // namespace joulery
