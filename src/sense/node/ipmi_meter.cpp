#include "sense/node/ipmi_meter.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "sense/component_name.h"
#include "sense/node/dcmi.h"
#include "sense/node/sdr_repository.h"

namespace joulery {
namespace {

constexpr double milli = 1e-3;  // sensors are counted in milliwatts: their steps need not be whole watts
// DCMI names no accuracy; it rounds to whole watts. Vendors promise 1 to 5 % for the same sensors.
constexpr Accuracy dcmi_accuracy{0.05, watts(0.5)};
constexpr double least_sensor_error = 0.05;  // records mostly leave the accuracy at 0, which is no promise
constexpr Duration refresh = milliseconds(1000);

// What makers call the sensor of the whole system: Dell, HPE, Supermicro, Intel, Lenovo, Fujitsu.
constexpr std::array<std::string_view, 11> whole_names = {"pwr consumption", "power meter", "system power", "sys power",
                                                          "sys_power",       "total power", "total_power",  "sys_total_power",
                                                          "total_pwr",       "node power",  "psys power"};

bool names_whole(std::string_view name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::find(whole_names, lower) != whole_names.end();
}

class IpmiMeter final : public Meter {
 public:
  IpmiMeter(std::unique_ptr<IpmiTransport> transport, const IpmiPower& power, const Component& whole)
      : transport_(std::move(transport)), power_(power), channels_(ipmi_channels(power, whole)) {}

  std::span<const Channel> channels() const override { return channels_; }

  void read(Sink& sink) override {
    failed_.reset();
    if (power_.dcmi) report_dcmi(sink);
    for (const WattSensor& sensor : power_.sensors) report_sensor(sensor, sink);
  }

 private:
  // A carrier that fails ends the round; a completion code or rubbish concerns one channel.
  std::expected<std::vector<std::uint8_t>, MissingReason> data_of(const IpmiRequest& request) {
    if (failed_) return std::unexpected(*failed_);
    const auto reply = transport_->exchange(request);
    if (!reply) {
      failed_ = reply.error().reason;
      return std::unexpected(*failed_);
    }
    if (reply->completion != 0) return std::unexpected(completion_trouble(reply->completion).reason);
    return reply->data;
  }

  void report_dcmi(Sink& sink) {
    const auto data = data_of(dcmi_power_request());
    if (!data) return sink.missing(data.error());
    const auto power = parse_dcmi_power(*data);
    if (!power) return sink.missing(power.error().reason);
    sink.value(std::llround(to_watts(power->current) / milli));
  }

  void report_sensor(const WattSensor& sensor, Sink& sink) {
    const auto data = data_of(sensor_reading_request(sensor));
    if (!data) return sink.missing(data.error());
    const auto raw = parse_sensor_reading(*data);
    if (!raw) return sink.missing(raw.error().reason);
    const auto value = sensor_value(sensor.factors, *raw);
    // No node draws a gigawatt; and below zero it is no power of a load.
    if (!value || *value < 0 || *value > 1e9) return sink.missing(MissingReason::rubbish);
    sink.value(std::llround(*value / milli));
  }

  std::unique_ptr<IpmiTransport> transport_;
  IpmiPower power_;
  std::vector<Channel> channels_;
  std::optional<MissingReason> failed_;
};

Channel power_channel(Component component, std::string name) {
  Channel channel;
  channel.component = std::move(component);
  channel.name = std::move(name);
  channel.measurand = Measurand::power;
  channel.behaviour = Behaviour::gauge;
  channel.unit = milli;
  channel.update_period = refresh;
  return channel;
}

Channel sensor_channel(const WattSensor& sensor, const Component& whole) {
  Channel channel = power_channel(whole, sensor.name);
  if (!names_whole(sensor.name)) {
    channel.component = Component("node/board/" + component_part(sensor.name));
    channel.scope = Scope::platform;  // a supply, a processor, a fan wall: which other meters it overlaps is not known
  }
  channel.accuracy = {std::max(sensor.factors.accuracy, least_sensor_error), watts(sensor_step(sensor.factors, 128))};
  return channel;
}

// Two sensors of one name (one for each supply, say) are told apart by their order.
void make_unique(std::vector<Channel>& channels) {
  std::map<std::string, int> seen;
  for (Channel& channel : channels) {
    const int earlier = seen[channel.name]++;
    if (earlier == 0) continue;
    channel.name += " #" + std::to_string(earlier + 1);
    if (channel.scope == Scope::platform) channel.component = Component(channel.component.path() + "+" + std::to_string(earlier));
  }
}

}  // namespace

Answer<IpmiPower> look_for_power(IpmiTransport& transport, Duration limit) {
  const MonoTime deadline = mono_now() + limit;
  IpmiPower found;
  const auto reply = transport.exchange(dcmi_power_request());
  if (!reply) return std::unexpected(reply.error());
  if (reply->completion != 0) {
    found.no_dcmi = completion_trouble(reply->completion);
  } else if (const auto power = parse_dcmi_power(reply->data); !power) {
    found.no_dcmi = power.error();
  } else {
    found.dcmi = true;
  }
  if (auto sensors = find_watt_sensors(transport, deadline)) found.sensors = std::move(*sensors);
  return found;
}

std::vector<Channel> ipmi_channels(const IpmiPower& power, const Component& whole) {
  std::vector<Channel> channels;
  if (power.dcmi) {
    channels.push_back(power_channel(whole, "power"));
    channels.back().accuracy = dcmi_accuracy;
  }
  for (const WattSensor& sensor : power.sensors) channels.push_back(sensor_channel(sensor, whole));
  make_unique(channels);
  return channels;
}

std::unique_ptr<Meter> make_ipmi_meter(std::unique_ptr<IpmiTransport> transport, const IpmiPower& power, const Component& whole) {
  return std::make_unique<IpmiMeter>(std::move(transport), power, whole);
}

}  // namespace joulery
