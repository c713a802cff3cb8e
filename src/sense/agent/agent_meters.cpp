#include "sense/agent/agent_meters.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "sense/agent/meter_connection.h"
#include "sense/obstacles.h"

namespace joulery {
namespace {

constexpr Duration patience = milliseconds(1000);        // with one answer
constexpr Duration patience_again = milliseconds(200);   // with an agent that comes back: it is asked again soon
constexpr Duration looks_again = milliseconds(1000);

constexpr Advice other_tree{"an agent gives the meters of this machine: a recorded tree has none", ""};
constexpr Advice switched_off{"agent.meters.socket is set to nothing", ""};
constexpr Advice nobody{"no agent gives its meters on this node",
                        "sudo systemctl enable --now joulery-agent  # for every user of this node"};

// What must stay for readings to go on in the same recording; how exact they are may change with the agent's configuration.
bool same_channels(const std::vector<Channel>& some, const std::vector<Channel>& others) {
  return std::ranges::equal(some, others, [](Channel one, const Channel& other) {
    one.accuracy = other.accuracy;
    return one == other;
  });
}

class AgentMeter final : public Meter {
 public:
  AgentMeter(std::string socket, std::size_t index, SharedDevice device)
      : socket_(std::move(socket)), index_(index), device_(std::move(device)) {}

  std::span<const Channel> channels() const override { return device_.channels; }

  void read(Sink& sink) override {
    const std::size_t count = device_.channels.size();
    if (!reach()) return tell_missing(sink);
    const auto readings = connection_->readings(index_, count, patience);
    if (!readings) {
      reason_ = readings.error();
      return tell_missing(sink);
    }
    for (const Reading& reading : *readings) {
      if (reading.ok())
        sink.value(reading.raw, reading.before, reading.after);
      else
        sink.missing(reading.reason, reading.before, reading.after);
    }
  }

  void processes(std::vector<DeviceProcess>& to) override {
    if (!reach()) return;
    auto told = connection_->processes(index_, patience);
    if (!told) return;
    to.insert(to.end(), std::make_move_iterator(told->begin()), std::make_move_iterator(told->end()));
  }

 private:
  void tell_missing(Sink& sink) const {
    for (std::size_t i = 0; i < device_.channels.size(); ++i) sink.missing(reason_);
  }

  // True where there is a connection to an agent that has this device. Looks for one about once a second.
  bool reach() {
    if (connection_ && connection_->alive()) return true;
    const MonoTime now = mono_now();
    if (now < next_look_) return false;
    next_look_ = now + looks_again;
    const bool first = !connection_;
    auto opened = MeterConnection::open(socket_, first ? patience : patience_again);
    if (!opened) {
      reason_ = opened.error().code == ErrorCode::permission ? MissingReason::permission : MissingReason::gone;
      return false;
    }
    connection_.emplace(std::move(*opened));
    return find_again();
  }

  // The list of an agent that was started anew may have another order; it is mostly the same.
  bool find_again() {
    const std::size_t count = connection_->hello().devices;
    for (std::size_t tried = 0; tried < count; ++tried) {
      const std::size_t at = (index_ + tried) % count;
      const auto device = connection_->describe(at, patience_again);
      if (!device) return fails(device.error());
      if (device->kind != device_.kind || device->name != device_.name) continue;
      if (!same_channels(device->channels, device_.channels)) break;
      index_ = at;
      return true;
    }
    return fails(MissingReason::device_lost);
  }

  bool fails(MissingReason reason) {
    reason_ = reason;
    connection_->close();
    return false;
  }

  std::string socket_;
  std::size_t index_;
  SharedDevice device_;
  std::optional<MeterConnection> connection_;  // empty until the first look
  MonoTime next_look_{};
  MissingReason reason_ = MissingReason::gone;
};

// All devices that the agent gives; what it cannot describe is left out.
Discovery found_at(const std::string& path, MeterConnection connection) {
  Discovery found;
  const std::size_t count = connection.hello().devices;
  for (std::size_t i = 0; i < count && connection.alive(); ++i) {
    auto device = connection.describe(i, patience);
    if (!device) continue;
    Finding finding = readable_finding(device->kind, device->name);
    finding.reason = fmt::format("{} ({})", by_agent, path);
    found.findings.push_back(std::move(finding));
    found.devices.push_back(agent_device(path, i, *std::move(device)));
  }
  Finding agent = readable_finding(agent_kind, "");
  const bool exact = connection.hello().least_interval == Duration{};
  agent.reason = fmt::format(
      "gives {} meter{} to this user ({}): {}", found.devices.size(), found.devices.size() == 1 ? "" : "s", path,
      exact ? "exactly"
            : fmt::format("rounded, and no more often than every {:.0f} ms", to_seconds(connection.hello().least_interval) * 1e3));
  found.findings.insert(found.findings.begin(), std::move(agent));
  return found;
}

Discovery only(Finding finding) {
  Discovery found;
  found.findings.push_back(std::move(finding));
  return found;
}

}  // namespace

Device agent_device(const std::string& socket, std::size_t index, SharedDevice shared) {
  Device device;
  device.kind = shared.kind;
  device.name = shared.name;
  // Even a fast one: an agent that hangs must not hold up what this process reads itself.
  device.slow = true;
  device.least_interval = shared.least_interval;
  device.remarks = shared.remarks;
  device.remarks.emplace_back(by_agent);
  device.meter = std::make_unique<AgentMeter>(socket, index, std::move(shared));
  return device;
}

Discovery probe_agent(const Machine& machine, const Settings& settings) {
  if (!machine.is_this_machine()) return only(absent_finding(agent_kind, "", other_tree));
  const auto paths = meter_socket_paths(settings);
  if (!paths) return only(blocked_finding(agent_kind, "", Advice{paths.error().what, paths.error().hint}, paths.error().where));
  if (paths->empty()) return only(absent_finding(agent_kind, "", switched_off));
  Finding why;
  for (const std::string& path : *paths) {
    auto connection = MeterConnection::open(path, patience);
    if (connection) return found_at(path, *std::move(connection));
    const Error& error = connection.error();
    if (error.code != ErrorCode::not_found)
      why = blocked_finding(agent_kind, "", Advice{error.what, error.hint}, path);
    else if (why.kind.empty())
      why = absent_finding(agent_kind, "", nobody, path);
  }
  return only(std::move(why));
}

void supersede(std::vector<Finding>& findings, const Discovery& given) {
  std::erase_if(findings, [&](const Finding& finding) {
    return !finding.readable && std::ranges::any_of(given.devices, [&](const Device& device) {
      if (finding.kind != device.kind) return false;
      return finding.device == device.name ||
             std::ranges::find(device.meter->channels(), finding.device, &Channel::name) != device.meter->channels().end();
    });
  });
}

}  // namespace joulery
