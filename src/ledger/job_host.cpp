#include "ledger/job_host.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

namespace joulery {
namespace {

using Json = nlohmann::json;

Json optional_seconds(const std::optional<Duration>& d) { return d ? Json(to_seconds(*d)) : Json(); }
Json optional_number(const std::optional<double>& d) { return d ? Json(*d) : Json(); }

std::optional<double> number_of(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found == json.end() || found->is_null() ? std::nullopt : std::optional(found->get<double>());
}
std::optional<Duration> seconds_of(const Json& json, const char* name) {
  const auto number = number_of(json, name);
  return number ? std::optional(seconds(*number)) : std::nullopt;
}

Json to_json(const JobHost& host) {
  Json metadata = Json::object(), crossings = Json::array();
  for (const auto& [name, text] : host.metadata) metadata[name] = Json::parse(text, nullptr, false);
  for (const ClockMap& map : host.crossings) crossings.push_back({map.mono.ns, map.boot.ns, map.wall.ns});
  const ClockAlignment& a = host.alignment;
  return {{"name", host.name},
          {"members", host.members},
          {"clock",
           {{"at_ns", host.clock.at.ns},
            {"drift", host.clock.drift},
            {"ahead_s", to_seconds(a.ahead)},
            {"ahead_low_s", optional_seconds(a.low)},
            {"ahead_high_s", optional_seconds(a.high)},
            {"ahead_drift", a.drift},
            {"ahead_drift_low", optional_number(a.drift_low)},
            {"ahead_drift_high", optional_number(a.drift_high)},
            {"source", a.source}}},
          {"crossings", crossings},
          {"metadata", metadata}};
}

JobHost host_from(const Json& json) {
  JobHost host;
  host.name = json.at("name").get<std::string>();
  host.members = json.at("members").get<std::vector<std::int32_t>>();
  const Json& clock = json.at("clock");
  host.clock = {{clock.at("at_ns").get<std::int64_t>()}, clock.at("drift").get<double>()};
  host.alignment = {seconds(clock.at("ahead_s").get<double>()), seconds_of(clock, "ahead_low_s"),
                    seconds_of(clock, "ahead_high_s"),          clock.value("ahead_drift", 0.0),
                    number_of(clock, "ahead_drift_low"),        number_of(clock, "ahead_drift_high"),
                    clock.at("source").get<std::string>()};
  for (const Json& map : json.at("crossings"))
    host.crossings.push_back({{map.at(0).get<std::int64_t>()}, {map.at(1).get<std::int64_t>()}, {map.at(2).get<std::int64_t>()}});
  for (const auto& [name, value] : json.at("metadata").items()) host.metadata[name] = value.dump();
  return host;
}

}  // namespace

std::string hosts_json(const std::vector<JobHost>& hosts) {
  Json all = Json::array();
  for (const JobHost& host : hosts) all.push_back(to_json(host));
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<std::vector<JobHost>> job_hosts(const Metadata& metadata) {
  std::vector<JobHost> hosts;
  const auto found = metadata.find(hosts_entry);
  if (found == metadata.end()) return hosts;
  try {
    for (const Json& json : Json::parse(found->second)) hosts.push_back(host_from(json));
  } catch (const std::exception&) {  // of nlohmann-json
    return fail(ErrorCode::format, "the recording's metadata is damaged", hosts_entry, "merge the recordings of the hosts once more");
  }
  // A host twice would count its joules twice; a host that is a job would lead ever deeper.
  std::set<std::string> names;
  std::set<std::int32_t> members;
  bool sound = true;
  for (const JobHost& host : hosts) {
    sound = sound && names.insert(host.name).second && !host.metadata.contains(hosts_entry);
    for (const std::int32_t member : host.members) sound = sound && member >= 0 && member < most_members && members.insert(member).second;
  }
  for (const JobHost& host : hosts)
    if (!sound || host.name.empty() || host.name.find_first_of("/ ") != std::string::npos || std::abs(host.clock.drift) > 0.01 ||
        host.crossings.empty())
      return fail(ErrorCode::format, "the recording's metadata is damaged", hosts_entry, "merge the recordings of the hosts once more");
  return hosts;
}

std::string host_detail(const std::string& host, const std::string& detail) { return "host/" + host + " " + detail; }

std::optional<std::string> detail_of_host(const std::string& host, const std::string& detail) {
  const std::string prefix = host_detail(host, "");
  return detail.starts_with(prefix) ? std::optional(detail.substr(prefix.size())) : std::nullopt;
}

}  // namespace joulery
