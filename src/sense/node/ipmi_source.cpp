#include "sense/node/ipmi_source.h"

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
constexpr double most_watts = 1e9;
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

Channel power_channel(const WholeNode& whole, std::string name) {
  Channel channel;
  channel.component = whole.component;
  channel.max_power = whole.max_power;
  channel.name = std::move(name);
  channel.measurand = Measurand::power;
  channel.behaviour = Behaviour::gauge;
  channel.unit = milli;
  channel.update_period = refresh;
  return channel;
}

Channel sensor_channel(const WattSensor& sensor, const WholeNode& whole) {
  Channel channel = power_channel(whole, sensor.name);
  if (!names_whole(sensor.name)) {
    channel.component = Component(whole.component.path() + "/board/" + component_part(sensor.name));
    channel.scope = Scope::platform;  // a supply, a processor, a fan wall: which other meters it overlaps is not known
  }
  channel.accuracy = {whole.relative_error > 0 ? whole.relative_error : std::max(sensor.factors.accuracy, least_sensor_error),
                      watts(sensor_step(sensor.factors, 128))};
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
  const auto reply = transport.exchange(dcmi_power_request(), limit);
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

std::vector<Channel> ipmi_channels(const IpmiPower& power, const WholeNode& whole) {
  std::vector<Channel> channels;
  if (power.dcmi) {
    channels.push_back(power_channel(whole, "power"));
    channels.back().accuracy = dcmi_accuracy;
    if (whole.relative_error > 0) channels.back().accuracy.relative = whole.relative_error;
  }
  for (const WattSensor& sensor : power.sensors) channels.push_back(sensor_channel(sensor, whole));
  make_unique(channels);
  return channels;
}

Answer<void> IpmiSource::look(Duration limit) {
  if (looked_) return {};
  looked_ = true;
  auto found = look_for_power(*transport_, limit);
  if (!found) return std::unexpected(found.error());
  if (!found->any()) {
    const bool refused = found->no_dcmi.reason == MissingReason::permission;
    return std::unexpected(Trouble{refused ? MissingReason::permission : MissingReason::not_supported,
                                   "the controller reads no power: no sensor of watts, and for DCMI " + found->no_dcmi.what,
                                   found->no_dcmi.remedy});
  }
  power_ = *std::move(found);
  return {};
}

IpmiSource::Data IpmiSource::data_of(const IpmiRequest& request) {
  if (failed_) return std::unexpected(*failed_);
  const auto reply = transport_->exchange(request, std::max(deadline_ - mono_now(), milliseconds(1)));
  if (!reply) {
    failed_ = reply.error();
    return std::unexpected(*failed_);
  }
  if (reply->completion != 0) return std::unexpected(completion_trouble(reply->completion));
  return reply->data;
}

Answer<std::int64_t> IpmiSource::dcmi_milliwatts() {
  const auto data = data_of(dcmi_power_request());
  if (!data) return std::unexpected(data.error());
  const auto power = parse_dcmi_power(*data);
  if (!power) return std::unexpected(power.error());
  return std::llround(to_watts(power->current) / milli);
}

Answer<std::int64_t> IpmiSource::sensor_milliwatts(const WattSensor& sensor) {
  const auto data = data_of(sensor_reading_request(sensor));
  if (!data) return std::unexpected(data.error());
  const auto raw = parse_sensor_reading(*data);
  if (!raw) return std::unexpected(raw.error());
  const auto value = sensor_value(sensor.factors, *raw);
  if (!value || *value < 0 || *value > most_watts)
    return std::unexpected(Trouble{MissingReason::rubbish, "the sensor " + sensor.name + " reads what no load can draw"});
  return std::llround(*value / milli);
}

Answer<RemoteAnswer> IpmiSource::ask(Duration limit) {
  deadline_ = mono_now() + limit;
  if (const auto looked = look(limit); !looked) return std::unexpected(looked.error());
  failed_.reset();
  RemoteAnswer answer;
  std::optional<Trouble> first;
  bool any = false;
  const auto add = [&](const Answer<std::int64_t>& value) {
    any = any || value.has_value();
    if (!value && !first) first = value.error();
    answer.values.push_back(value ? RemoteValue(*value) : std::unexpected(value.error().reason));
  };
  if (power_.dcmi) add(dcmi_milliwatts());
  for (const WattSensor& sensor : power_.sensors) add(sensor_milliwatts(sensor));
  if (!any && first) return std::unexpected(*first);
  return answer;
}

}  // namespace joulery
