#include "sense/remote/remote_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <thread>
#include <utility>

#include "core/units.h"

namespace joulery {
namespace {

constexpr Duration probe_limit = milliseconds(1000);

std::unexpected<Error> out_of_range(const Settings& settings, const std::string& key, const char* range) {
  return fail(ErrorCode::usage, fmt::format("'{}' must lie {}", key, range), settings.find(key)->origin.describe());
}

// Sets `to` where the section has the key. Errors: usage.
Result<void> read_duration(const Settings& settings, const std::string& key, Duration& to) {
  const auto value = settings.duration(key);
  if (!value) return std::unexpected(value.error());
  if (!*value) return {};
  if (**value < milliseconds(1) || **value > milliseconds(3'600'000)) return out_of_range(settings, key, "from 1ms to 1h");
  to = **value;
  return {};
}

Result<void> read_bounds(const Settings& settings, RemoteSettings& remote) {
  const std::string power_key = remote.section + ".max_power", error_key = remote.section + ".error_percent";
  const auto power = settings.number(power_key), error = settings.number(error_key);
  if (!power) return std::unexpected(power.error());
  if (!error) return std::unexpected(error.error());
  if (*power && (**power <= 0 || **power > 1e9)) return out_of_range(settings, power_key, "above 0 and up to 1e9 watts");
  if (*error && (**error < 0 || **error > 100)) return out_of_range(settings, error_key, "from 0 to 100");
  if (*power) remote.max_power = watts(**power);
  if (*error) remote.accuracy.relative = **error / 100;
  return {};
}

bool is_component(std::string_view path) {
  const auto good = [](unsigned char c) { return c > 0x20 && c < 0x7f && c != '"' && c != '\\'; };
  return !path.empty() && path.size() <= 200 && std::ranges::all_of(path, good) && path.front() != '/' && path.back() != '/' &&
         !path.contains("//");
}

// One device on its way from its section to the discovery.
struct Candidate {
  RemoteSettings remote;
  std::unique_ptr<RemoteMeter> meter;
  Finding finding;
};

Finding refused(std::string_view kind, const std::string& name, const Error& error) {
  return {.kind = std::string(kind),
          .device = name,
          .found = true,
          .readable = false,
          .reason = error.where.empty() ? error.what : fmt::format("{}: {}", error.what, error.where),
          .remedy = error.hint};
}

Candidate candidate_of(std::string_view kind, std::string_view component, const Settings& settings, const std::string& name,
                       const MakeRemote& make) {
  Candidate candidate;
  auto remote = read_remote_settings(settings, name, component);
  if (!remote) return {{}, nullptr, refused(kind, name, remote.error())};
  std::string warning;
  auto source = make(*remote, settings, warning);
  if (!source) return {{}, nullptr, refused(kind, name, source.error())};
  candidate.meter = std::make_unique<RemoteMeter>(*std::move(source), remote->pace);
  candidate.remote = *std::move(remote);
  candidate.finding = readable_finding(kind, name);
  candidate.finding.reason = std::move(warning);
  return candidate;
}

void ask_once(Candidate& candidate) {
  const auto answer = candidate.meter->probe(std::min(probe_limit, candidate.remote.pace.timeout));
  if (answer) return;
  candidate.finding.readable = false;
  candidate.finding.reason = answer.error().what;
  candidate.finding.remedy = answer.error().remedy;
}

// In threads of their own, which take no signals: those are the caller's business.
void ask_all_once(std::vector<Candidate>& candidates) {
  sigset_t every, before;
  sigfillset(&every);
  pthread_sigmask(SIG_SETMASK, &every, &before);
  std::vector<std::jthread> threads;
  for (Candidate& candidate : candidates)
    if (candidate.meter) threads.emplace_back([&candidate] { ask_once(candidate); });
  threads.clear();  // joins
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

Result<RemoteSettings> read_remote_settings(const Settings& settings, const std::string& name, std::string_view component) {
  RemoteSettings remote;
  remote.name = name;
  remote.section = "meters." + name;
  const std::string component_key = remote.section + ".component";
  const auto path = settings.text(component_key);
  if (!path) return std::unexpected(path.error());
  if (*path && !is_component(**path))
    return out_of_range(settings, component_key, "in the tree of parts, such as node, wall or node/gpu/0");
  remote.component = Component(path->value_or(std::string(component)));
  const std::pair<const char*, Duration*> durations[] = {{".timeout", &remote.pace.timeout},
                                                         {".interval", &remote.interval},
                                                         {".longest_pause", &remote.pace.longest_pause},
                                                         {".max_age", &remote.pace.max_age}};
  for (const auto& [key, to] : durations)
    if (const auto read = read_duration(settings, remote.section + key, *to); !read) return std::unexpected(read.error());
  if (const auto read = read_bounds(settings, remote); !read) return std::unexpected(read.error());
  remote.pace.first_pause = std::min(remote.interval, remote.pace.longest_pause);
  return remote;
}

Discovery probe_remote(std::string_view kind, std::string_view component, const Settings& settings, const Advice& absent,
                       const MakeRemote& make) {
  std::vector<Candidate> candidates;
  for (const std::string& name : settings.names_below("meters")) {
    const auto its_kind = settings.text("meters." + name + ".kind");
    if (its_kind && *its_kind == kind) candidates.push_back(candidate_of(kind, component, settings, name, make));
  }
  ask_all_once(candidates);
  Discovery discovery;
  for (Candidate& candidate : candidates) {
    discovery.findings.push_back(std::move(candidate.finding));
    if (candidate.meter && !candidate.meter->channels().empty())
      discovery.devices.push_back({std::string(kind), candidate.remote.name, true, std::move(candidate.meter), candidate.remote.interval});
  }
  if (candidates.empty()) discovery.findings.push_back(absent_finding(kind, "", absent));
  return discovery;
}

}  // namespace joulery
