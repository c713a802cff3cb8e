#include "app/agent/meter_scopes.h"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

namespace joulery {
namespace {

constexpr double energy_step = 0.01;  // J
constexpr double power_step = 0.1;    // W
constexpr const char* read_own_key = "agent.meters.read_own";
constexpr const char* read_all_key = "agent.meters.read_all";
constexpr const char* control_key = "agent.meters.control_power";

std::optional<unsigned> number_in(std::string_view text) {
  unsigned number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failed == std::errc{} && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

std::optional<uid_t> user_by(const std::string& name) {
  if (const auto number = number_in(name)) return number;
  const passwd* found = ::getpwnam(name.c_str());
  return found ? std::optional(found->pw_uid) : std::nullopt;
}

std::optional<gid_t> group_by(const std::string& name) {
  if (const auto number = number_in(name)) return number;
  const group* found = ::getgrnam(name.c_str());
  return found ? std::optional(found->gr_gid) : std::nullopt;
}

// In whole steps of the channel's own counts; a channel that counts more coarsely is left as it is.
std::int64_t counts_in(double step, double unit) { return std::max<std::int64_t>(1, to_whole(std::ceil(step / unit - 1e-9))); }

bool is_counter(const Channel& c) { return c.measurand == Measurand::energy && c.behaviour == Behaviour::counter; }
bool is_power(const Channel& c) { return c.measurand == Measurand::power && c.behaviour == Behaviour::gauge; }

// A counter keeps its bits in a signed number: it is floored as the unsigned number that it is.
std::int64_t floored(std::int64_t raw, std::int64_t step) {
  const auto count = static_cast<std::uint64_t>(raw);
  return static_cast<std::int64_t>(count - count % static_cast<std::uint64_t>(step));
}

std::int64_t nearest(std::int64_t raw, std::int64_t step) {
  return std::llround(static_cast<double>(raw) / static_cast<double>(step)) * step;
}

}  // namespace

std::string_view name_of(MeterScope scope) {
  constexpr std::string_view names[] = {"", "read_own", "read_all"};
  return names[static_cast<unsigned>(scope)];
}

Result<MeterPeer> peer_of(int descriptor) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0)
    return std::unexpected(error_from_errno(errno, "cannot tell who asks", "SO_PEERCRED"));
  MeterPeer peer{credentials.uid, {}, credentials.pid};
  peer.groups.resize(64);
  for (;;) {
    size = static_cast<socklen_t>(peer.groups.size() * sizeof(gid_t));
    if (::getsockopt(descriptor, SOL_SOCKET, SO_PEERGROUPS, peer.groups.data(), &size) == 0) break;
    if (errno != ERANGE || size / sizeof(gid_t) <= peer.groups.size())
      return std::unexpected(error_from_errno(errno, "cannot tell the groups of who asks", "SO_PEERGROUPS"));
    peer.groups.resize(size / sizeof(gid_t));
  }
  peer.groups.resize(size / sizeof(gid_t));
  peer.groups.push_back(credentials.gid);
  return peer;
}

bool MeterScopes::Who::holds(const MeterPeer& peer) const {
  if (everyone || std::ranges::find(users, peer.user) != users.end()) return true;
  return std::ranges::any_of(peer.groups, [&](gid_t one) { return std::ranges::find(groups, one) != groups.end(); });
}

Result<MeterScopes::Who> MeterScopes::who(const Settings& settings, const char* key, const std::vector<std::string>& fallback,
                                          std::vector<std::string>& warnings) {
  const auto set = settings.texts(key);
  if (!set) return std::unexpected(set.error());
  Who who;
  for (const std::string& name : *set ? **set : fallback) {
    const bool is_group = name.starts_with('@');
    if (name == "*") {
      who.everyone = true;
    } else if (const auto group = is_group ? group_by(name.substr(1)) : std::nullopt) {
      who.groups.push_back(*group);
    } else if (const auto user = is_group ? std::nullopt : user_by(name)) {
      who.users.push_back(*user);
    } else {
      warnings.push_back(
          fmt::format("{}: this machine knows no {} {}", key, is_group ? "group" : "user", is_group ? name.substr(1) : name));
    }
  }
  return who;
}

Result<MeterScopes> MeterScopes::from(const Settings& settings, std::vector<std::string>& warnings) {
  MeterScopes scopes;
  auto own = who(settings, read_own_key, {"*"}, warnings), all = who(settings, read_all_key, {"root"}, warnings),
       control = who(settings, control_key, {"root"}, warnings);
  const auto interval = settings.duration("agent.meters.least_interval");
  if (!own) return std::unexpected(own.error());
  if (!all) return std::unexpected(all.error());
  if (!control) return std::unexpected(control.error());
  if (!interval) return std::unexpected(interval.error());
  scopes.own_ = *std::move(own);
  scopes.all_ = *std::move(all);
  scopes.control_ = *std::move(control);
  if (*interval) scopes.least_interval_ = **interval;
  if (scopes.least_interval_ < milliseconds(1) || scopes.least_interval_ > milliseconds(3'600'000))
    return fail(ErrorCode::usage, "the least interval must lie between 1 ms and 1 h", "agent.meters.least_interval",
                "who may read more often belongs to agent.meters.read_all");
  return scopes;
}

MeterScope MeterScopes::of(const MeterPeer& peer) const {
  return all_.holds(peer) ? MeterScope::read_all : own_.holds(peer) || control_.holds(peer) ? MeterScope::read_own : MeterScope::refused;
}

std::string MeterScopes::refusal(const MeterPeer& peer) const {
  return fmt::format("user {} may not read this agent's meters: {} and {} name others", user_name(peer.user), read_own_key, read_all_key);
}

std::string user_name(uid_t user) {
  const passwd* found = ::getpwuid(user);
  return found ? found->pw_name : std::to_string(user);
}

// Rounded counts are out by less than a step, whatever time they are apart: over the second that a figure needs to mean much, this
// is a step's joules in watts. What lies between two readings is more than that, and stands in the interval anyway.
Channel channel_in(MeterScope scope, Channel channel) {
  if (scope == MeterScope::read_all) return channel;
  if (is_counter(channel) && channel.unit < energy_step) channel.accuracy.absolute += watts(energy_step);
  if (is_power(channel) && channel.unit < power_step) channel.accuracy.absolute += watts(power_step / 2);
  return channel;
}

void round_readings(MeterScope scope, std::span<const Channel> channels, std::span<Reading> readings) {
  if (scope == MeterScope::read_all) return;
  for (std::size_t i = 0; i < std::min(channels.size(), readings.size()); ++i) {
    std::int64_t& raw = readings[i].raw;
    if (is_counter(channels[i])) raw = floored(raw, counts_in(energy_step, channels[i].unit));
    if (is_power(channels[i])) raw = nearest(raw, counts_in(power_step, channels[i].unit));
  }
}

}  // namespace joulery
