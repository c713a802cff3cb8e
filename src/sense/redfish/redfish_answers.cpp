#include "sense/redfish/redfish_answers.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sense/remote/json_number.h"

namespace joulery {
namespace {

using Json = nlohmann::json;

constexpr std::size_t most_members = 64;
constexpr double most_watts = 1e6, most_joules = 9e12;

// An object, empty where the page is none.
Json object_of(std::string_view page) {
  Json json = Json::parse(page, nullptr, false);
  return json.is_object() ? json : Json::object();
}

const Json& at(const Json& object, std::string_view name) {
  static const Json nothing;
  if (!object.is_object()) return nothing;
  const auto found = object.find(name);
  return found == object.end() ? nothing : *found;
}

std::string_view text_at(const Json& object, std::string_view name) {
  const Json& value = at(object, name);
  return value.is_string() ? std::string_view(value.get_ref<const std::string&>()) : std::string_view();
}

// A plain path of this service, without its fragment; "" for anything else.
std::string path_of(const Json& link) {
  std::string_view path = text_at(link, "@odata.id");
  path = path.substr(0, path.find('#'));
  const bool plain = path.size() < 512 && std::ranges::all_of(path, [](unsigned char c) { return c > 0x20 && c < 0x7f && c != '\\'; });
  if (!plain || !path.starts_with('/') || path.starts_with("//") || path.contains("/../")) return {};
  return std::string(path);
}

// A finite number, or a text that is one; nothing else.
std::optional<double> number_of(const Json& value) {
  double number = 0;
  if (value.is_number() && std::isfinite(number = value.get<double>())) return number;
  if (value.is_string() && parse_decimal(value.get_ref<const std::string&>(), number)) return number;
  return std::nullopt;
}

// A machine that answers burns something: 0 is what a sensor says that is not ready.
std::optional<double> watts_of(const Json& value) {
  const auto number = number_of(value);
  return number && *number > 0 && *number <= most_watts ? number : std::nullopt;
}

// An excerpt of a sensor {"Reading": 374}, or the number itself as early services have it.
const Json& reading_in(const Json& object, std::string_view name) {
  const Json& excerpt = at(object, name);
  return excerpt.is_object() ? at(excerpt, "Reading") : excerpt;
}

bool is_usable(const Json& object) {
  const std::string_view state = text_at(at(object, "Status"), "State");
  return state.empty() || (state != "Absent" && state != "Disabled" && state != "UnavailableOffline" && state != "StandbyOffline");
}

std::string in_lower_case(std::string_view text) {
  std::string low(text);
  std::ranges::transform(low, low.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return low;
}

// Some services list the CPUs', the memory's and the GPUs' power beside the server's.
bool is_subsystem(const Json& control) {
  const std::string name = in_lower_case(text_at(control, "Name"));
  return std::ranges::any_of(std::array{"sub-system", "subsystem", "cpu", "memory", "gpu", "dimm", "fan", "storage"},
                             [&](const char* word) { return name.contains(word); });
}

// Names under which reports carry the server's power. Sources: Dell's PowerMetrics report, DMTF's property names.
bool tells_server_power(const Json& value) {
  constexpr std::string_view ids[] = {"SystemInputPower", "SystemPowerConsumption", "TotalPower", "PowerConsumedWatts"};
  if (std::ranges::find(ids, text_at(value, "MetricId")) != std::end(ids)) return true;
  const std::string_view property = text_at(value, "MetricProperty");
  if (property.ends_with("/PowerControl/0/PowerConsumedWatts") || property.ends_with("/EnvironmentMetrics#/PowerWatts/Reading"))
    return true;
  return property.contains("/Sensors/TotalPower") && property.ends_with("Reading");
}

// A whole number of exactly `digits` digits at the head of `text`, which it is taken from.
std::optional<int> take_digits(std::string_view& text, std::size_t digits) {
  int value = 0;
  if (text.size() < digits) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + digits, value);
  if (error != std::errc() || end != text.data() + digits || value < 0) return std::nullopt;
  text.remove_prefix(digits);
  return value;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<std::int64_t> seconds_of(int year, int month, int day, int hour, int minute, int second) {
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok() || hour > 23 || minute > 59 || second > 60) return std::nullopt;
  return std::chrono::sys_days(date).time_since_epoch().count() * std::int64_t{86400} + hour * 3600 + minute * 60 + second;
}

}  // namespace

std::optional<RedfishRoot> read_redfish_root(std::string_view page) {
  const Json json = object_of(page);
  RedfishRoot root{path_of(at(json, "Chassis")), path_of(at(at(json, "Links"), "Sessions")), path_of(at(json, "TelemetryService"))};
  if (root.chassis.empty()) return std::nullopt;
  return root;
}

std::vector<std::string> read_redfish_members(std::string_view page) {
  const Json json = object_of(page);
  const Json& members = at(json, "Members");
  std::vector<std::string> paths;
  if (!members.is_array()) return paths;
  for (const Json& member : members) {
    if (paths.size() == most_members) break;
    if (std::string path = path_of(member); !path.empty()) paths.push_back(std::move(path));
  }
  return paths;
}

std::optional<RedfishChassis> read_redfish_chassis(std::string_view page) {
  const Json json = object_of(page);
  if (json.empty()) return std::nullopt;
  const Json& systems = at(at(json, "Links"), "ComputerSystems");
  return RedfishChassis{std::string(text_at(json, "Id")), systems.is_array() && !systems.empty(), path_of(at(json, "EnvironmentMetrics")),
                        path_of(at(json, "Power")),       path_of(at(json, "Sensors")),           path_of(at(json, "PowerSubsystem"))};
}

std::string read_redfish_link(std::string_view page, std::string_view name) {
  const Json json = object_of(page);
  return path_of(at(json, name));
}

RedfishReading read_environment_metrics(std::string_view page) {
  const Json json = object_of(page);
  RedfishReading reading;
  reading.watts = watts_of(reading_in(json, "PowerWatts"));
  const auto joules = number_of(reading_in(json, "EnergyJoules"));
  if (joules && *joules > 0 && *joules <= most_joules) reading.joules = joules;
  return reading;
}

RedfishReading read_power(std::string_view page) {
  const Json json = object_of(page);
  const Json& controls = at(json, "PowerControl");
  if (!controls.is_array()) return {};
  for (const Json& control : controls) {
    if (is_subsystem(control) || !is_usable(control)) continue;
    if (const auto watts = watts_of(at(control, "PowerConsumedWatts"))) return {watts, {}, {}};
  }
  return {};
}

RedfishReading read_sensor(std::string_view page) {
  const Json json = object_of(page);
  const std::string_view context = text_at(json, "PhysicalContext"), units = text_at(json, "ReadingUnits");
  const bool whole = context == "Chassis" || context == "System" || (context.empty() && text_at(json, "ElectricalContext") == "Total");
  if (text_at(json, "ReadingType") != "Power" || !whole || !is_usable(json) || (!units.empty() && units != "W")) return {};
  return {watts_of(at(json, "Reading")), {}, {}};
}

RedfishReading read_supply_metrics(std::string_view page) {
  const Json json = object_of(page);
  if (!is_usable(json)) return {};
  return {watts_of(reading_in(json, "InputPowerWatts")), {}, {}};
}

RedfishReading read_metric_report(std::string_view page, std::string_view now) {
  const Json json = object_of(page);
  const Json& values = at(json, "MetricValues");
  RedfishReading reading;
  if (!values.is_array()) return reading;
  const Json* newest = nullptr;
  for (const Json& value : values)  // a report may hold several instants, the newest last
    if (tells_server_power(value) && watts_of(at(value, "MetricValue"))) newest = &value;
  if (!newest) return reading;
  reading.watts = watts_of(at(*newest, "MetricValue"));
  std::string_view taken = text_at(*newest, "Timestamp");
  if (taken.empty()) taken = text_at(json, "Timestamp");
  const auto then = parse_iso_time(taken), answered = parse_http_date(now);
  if (then && answered) reading.age_s = static_cast<double>(std::max<std::int64_t>(0, *answered - *then));
  return reading;
}

std::optional<std::int64_t> parse_iso_time(std::string_view text) {
  const auto year = take_digits(text, 4);
  const auto month = year && take(text, '-') ? take_digits(text, 2) : std::nullopt;
  const auto day = month && take(text, '-') ? take_digits(text, 2) : std::nullopt;
  const auto hour = day && take(text, 'T') ? take_digits(text, 2) : std::nullopt;
  const auto minute = hour && take(text, ':') ? take_digits(text, 2) : std::nullopt;
  const auto second = minute && take(text, ':') ? take_digits(text, 2) : std::nullopt;
  if (!second) return std::nullopt;
  if (take(text, '.'))
    while (take_digits(text, 1)) continue;
  const auto utc = seconds_of(*year, *month, *day, *hour, *minute, *second);
  if (!utc || text == "Z" || text.empty()) return utc;
  const int sign = take(text, '+') ? 1 : take(text, '-') ? -1 : 0;
  const auto hours = take_digits(text, 2);
  take(text, ':');
  const auto minutes = hours ? take_digits(text, 2) : std::nullopt;
  if (sign == 0 || !minutes || !text.empty()) return std::nullopt;
  return *utc - sign * (*hours * 3600 + *minutes * 60);
}

std::optional<std::int64_t> parse_http_date(std::string_view text) {
  constexpr std::string_view months = "JanFebMarAprMayJunJulAugSepOctNovDec";
  const auto comma = text.find(", ");
  if (comma == std::string_view::npos) return std::nullopt;
  text.remove_prefix(comma + 2);
  const auto day = take_digits(text, 2);
  if (!day || !take(text, ' ') || text.size() < 3) return std::nullopt;
  const auto month = months.find(text.substr(0, 3));
  if (month == std::string_view::npos || month % 3 != 0) return std::nullopt;
  text.remove_prefix(3);
  const auto year = take(text, ' ') ? take_digits(text, 4) : std::nullopt;
  const auto hour = year && take(text, ' ') ? take_digits(text, 2) : std::nullopt;
  const auto minute = hour && take(text, ':') ? take_digits(text, 2) : std::nullopt;
  const auto second = minute && take(text, ':') ? take_digits(text, 2) : std::nullopt;
  if (!second || text != " GMT") return std::nullopt;
  return seconds_of(*year, static_cast<int>(month / 3) + 1, *day, *hour, *minute, *second);
}

}  // namespace joulery
