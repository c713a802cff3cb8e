// Pages of a Redfish service that hold anything: links stay on the service, watts in their range.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sense/redfish/redfish_answers.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

void check(const joulery::RedfishReading& reading) {
  if (reading.watts) require(*reading.watts > 0 && *reading.watts <= 1e6);
  if (reading.joules) require(*reading.joules > 0 && *reading.joules <= 9e12);
  if (reading.age_s) require(*reading.age_s >= 0);
}

void check(const std::string& path) { require(path.empty() || (path[0] == '/' && !path.starts_with("//"))); }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace joulery;
  const std::string_view page(reinterpret_cast<const char*>(data), size);
  if (const auto root = read_redfish_root(page)) check(root->chassis), check(root->sessions), check(root->telemetry);
  for (const std::string& path : read_redfish_members(page)) check(path);
  if (const auto chassis = read_redfish_chassis(page)) check(chassis->environment), check(chassis->power), check(chassis->power_subsystem);
  check(read_redfish_link(page, "Metrics"));
  check(read_environment_metrics(page));
  check(read_power(page));
  check(read_sensor(page));
  check(read_supply_metrics(page));
  check(read_metric_report(page, "Sun, 01 Mar 2026 11:00:05 GMT"));
  (void)parse_iso_time(page);
  (void)parse_http_date(page);
  return 0;
}
