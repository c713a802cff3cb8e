#include "sense/hwmon/jetson_iio.h"

#include "sense/hwmon/hwmon_places.h"
#include "sense/live_file.h"
#include "sense/obstacles.h"

namespace joulery {
namespace {

constexpr std::string_view kind = "jetson.iio";
constexpr int rails_per_chip = 3;
constexpr double milliwatt = 1e-3;

constexpr Advice none{"this machine has no INA3221 monitor of a Jetson board before JetPack 5", ""};
constexpr Advice unreadable{"no rail of this monitor can be read", "sudo joulery run -- CMD"};

class RailMeter final : public Meter {
 public:
  void add(Channel channel, LiveFile file) {
    channels_.push_back(std::move(channel));
    files_.push_back(std::move(file));
  }
  std::span<const Channel> channels() const override { return channels_; }
  void read(Sink& sink) override {
    for (LiveFile& file : files_) report(sink, file.read_count(sink.last()));
  }

 private:
  std::vector<Channel> channels_;
  std::vector<LiveFile> files_;
};

// .../iio:device0 of every INA3221 on an I2C bus.
std::vector<std::string> monitors(const Machine& machine) {
  std::vector<std::string> folders;
  const std::string bus = "/sys/bus/i2c/devices";
  for (const std::string& chip : machine.list(bus)) {
    const std::string folder = path_below(bus, chip);
    if (!machine.read_or_empty(folder + "/name", 64).contains("ina3221")) continue;
    for (const std::string& device : machine.list(folder))
      if (device.starts_with("iio:device")) folders.push_back(path_below(folder, device));
  }
  return folders;
}

void add_rail(const Machine& machine, const std::string& folder, std::size_t index, int rail, RailMeter& meter) {
  const std::string number = std::to_string(rail), name = machine.read_or_empty(folder + "/rail_name_" + number, 64);
  LiveFile file(machine.path(folder + "/in_power" + number + "_input"));
  if (name.empty() || name == "NC" || !file.read_count(mono_now())) return;
  const HwmonPlace place = hwmon_place("ina3221", index, name, -1);
  Channel channel;
  channel.component = place.component;
  channel.name = name;
  channel.measurand = Measurand::power;
  channel.behaviour = Behaviour::gauge;
  channel.unit = milliwatt;
  channel.scope = place.scope;
  channel.accuracy.relative = place.relative_error;
  meter.add(std::move(channel), std::move(file));
}

}  // namespace

Discovery probe_jetson_iio(const Machine& machine) {
  Discovery discovery;
  std::size_t index = 0;
  for (const std::string& folder : monitors(machine)) {
    auto meter = std::make_unique<RailMeter>();
    for (int rail = 0; rail < rails_per_chip; ++rail) add_rail(machine, folder, index, rail, *meter);
    const std::string name = "ina3221-" + std::to_string(index++);
    if (meter->channels().empty()) {
      discovery.findings.push_back(blocked_finding(kind, name, unreadable, machine.path(folder)));
      continue;
    }
    discovery.findings.push_back(readable_finding(kind, name));
    discovery.devices.push_back({std::string(kind), name, true, std::move(meter)});
  }
  if (discovery.findings.empty()) discovery.findings.push_back(absent_finding(kind, "", none));
  return discovery;
}

}  // namespace joulery
