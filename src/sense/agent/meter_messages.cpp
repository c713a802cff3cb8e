#include "sense/agent/meter_messages.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "sense/agent/json_members.h"

namespace joulery {
namespace {

using nlohmann::json;

constexpr std::string_view schema = "joulery.meters/1";
constexpr double not_told = std::numeric_limits<double>::quiet_NaN();

template <class T>
void put(std::string& to, T value) {
  static_assert(std::is_arithmetic_v<T>);
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  to.append(bytes, sizeof bytes);
}

// Takes values off the front of a message; once something is missing, nothing is good any more.
class Bytes {
 public:
  explicit Bytes(std::string_view text) : rest_(text) {}
  template <class T>
  T take() {
    T value{};
    if (rest_.size() < sizeof value) return good_ = false, value;
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
    return value;
  }
  std::string_view text(std::size_t size) {
    if (rest_.size() < size) return good_ = false, std::string_view();
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  bool good() const { return good_; }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
  bool good_ = true;
};

void put_head(std::string& to, const MeterHead& head) {
  put(to, static_cast<std::uint16_t>(head.word));
  put(to, head.device);
  put(to, head.serial);
}

json to_json(const Channel& channel) {
  return {{"component", channel.component.path()},
          {"name", channel.name},
          {"measurand", static_cast<int>(channel.measurand)},
          {"behaviour", static_cast<int>(channel.behaviour)},
          {"unit", channel.unit},
          {"range", channel.range},
          {"update_period_ns", channel.update_period.base_units()},
          {"averaging_window_ns", channel.averaging_window.base_units()},
          {"scope", static_cast<int>(channel.scope)},
          {"relative_error", channel.accuracy.relative},
          {"absolute_error_w", to_watts(channel.accuracy.absolute)},
          {"max_power_w", to_watts(channel.max_power)},
          {"always_burns", channel.always_burns}};
}

std::optional<Channel> parse_channel(const json& object) {
  Members members(object);
  Channel channel;
  channel.component = Component(members.text("component", longest_name));
  channel.name = members.text("name", longest_name);
  channel.measurand = members.one_of("measurand", Measurand::duration);
  channel.behaviour = members.one_of("behaviour", Behaviour::label);
  channel.unit = members.number("unit", 1e12);
  channel.range = members.count("range");
  channel.update_period = members.duration("update_period_ns");
  channel.averaging_window = members.duration("averaging_window_ns");
  channel.scope = members.one_of("scope", Scope::platform);
  channel.accuracy = {members.number("relative_error", 1e3), watts(members.number("absolute_error_w", 1e9))};
  channel.max_power = watts(members.number("max_power_w", 1e9));
  channel.always_burns = members.flag("always_burns");
  members.require(channel.unit > 0 && !channel.name.empty() && !channel.component.path().empty());
  return members.good() ? std::optional(std::move(channel)) : std::nullopt;
}

bool known(std::uint8_t reason) { return reason <= static_cast<std::uint8_t>(MissingReason::device_lost); }

std::optional<double> share(double value) { return std::isfinite(value) ? std::optional(value) : std::nullopt; }

}  // namespace

std::string with_json(const MeterHead& head, const json& what) {
  std::string message;
  put_head(message, head);
  return message += what.dump(-1, ' ', false, json::error_handler_t::replace);
}

// A discarded value where there is none.
json json_of(std::string_view message, MeterWord word) {
  const auto head = parse_meter_head(message);
  if (!head || head->word != word) return json(json::value_t::discarded);
  return json::parse(message.substr(head_size), nullptr, false);
}

std::string to_message(const MeterHead& request) {
  std::string message;
  put_head(message, request);
  return message;
}

std::string to_message(const MeterHead& head, const MeterHello& hello) {
  return with_json(head, {{"schema", schema},
                          {"version", hello.version},
                          {"now_ns", hello.now.ns},
                          {"scope", hello.scope},
                          {"refused", hello.refused},
                          {"least_interval_ns", hello.least_interval.base_units()},
                          {"devices", hello.devices},
                          {"controls", hello.controls}});
}

std::string to_message(const MeterHead& head, const SharedDevice& device) {
  json object{{"kind", device.kind},       {"name", device.name},
              {"slow", device.slow},       {"least_interval_ns", device.least_interval.base_units()},
              {"remarks", device.remarks}, {"channels", json::array()}};
  for (const Channel& channel : device.channels) object["channels"].push_back(to_json(channel));
  return with_json(head, object);
}

std::string to_message(const MeterHead& head, std::span<const Reading> readings) {
  std::string message;
  put_head(message, head);
  for (const Reading& reading : readings) {
    put(message, reading.raw);
    put(message, reading.before.ns);
    put(message, reading.after.ns);
    put(message, static_cast<std::uint8_t>(reading.reason));
  }
  return message;
}

std::string to_message(const MeterHead& head, std::span<const DeviceProcess> processes) {
  std::string message;
  put_head(message, head);
  for (const DeviceProcess& process : processes) {
    put(message, process.pid);
    put(message, process.memory.value_or(-1));
    for (const auto& value : {process.busy, process.memory_busy, process.encoder, process.decoder}) put(message, value.value_or(not_told));
    put(message, static_cast<std::uint16_t>(process.component.path().size()));
    message += process.component.path();
  }
  return message;
}

std::optional<MeterHead> parse_meter_head(std::string_view message) {
  Bytes bytes(message);
  const auto word = bytes.take<std::uint16_t>();
  const auto device = bytes.take<std::uint16_t>();
  const auto serial = bytes.take<std::uint32_t>();
  if (!bytes.good() || word > static_cast<std::uint16_t>(MeterWord::give_back)) return std::nullopt;
  return MeterHead{static_cast<MeterWord>(word), device, serial};
}

std::optional<MeterHead> parse_meter_request(std::string_view message) {
  const auto head = parse_meter_head(message);
  return head && message.size() == head_size && head->word != MeterWord::hello && head->word != MeterWord::limit ? head : std::nullopt;
}

std::optional<MeterHello> parse_meter_hello(std::string_view message) {
  const json object = json_of(message, MeterWord::hello);
  Members members(object);
  members.require(members.text("schema", longest_name) == schema);
  MeterHello hello;
  hello.version = members.text("version", longest_name);
  hello.now = {members.whole("now_ns", INT64_MAX)};
  hello.scope = members.text("scope", longest_name);
  hello.refused = members.text("refused", 4 * longest_name);
  hello.least_interval = members.duration("least_interval_ns");
  hello.devices = static_cast<std::size_t>(members.whole("devices", most_shared_devices));
  hello.controls = members.has("controls") && members.flag("controls");
  return members.good() ? std::optional(std::move(hello)) : std::nullopt;
}

std::optional<SharedDevice> parse_shared_device(std::string_view message) {
  const json object = json_of(message, MeterWord::describe);
  Members members(object);
  SharedDevice device;
  device.kind = members.text("kind", longest_name);
  device.name = members.text("name", longest_name);
  device.slow = members.flag("slow");
  device.least_interval = members.duration("least_interval_ns");
  const json* remarks = members.array("remarks", 64);
  const json* channels = members.array("channels", 4096);
  if (!members.good() || device.kind.empty() || channels->empty()) return std::nullopt;
  for (const json& remark : *remarks) {
    if (!remark.is_string()) return std::nullopt;
    device.remarks.push_back(remark.get<std::string>());
  }
  std::vector<std::string_view> names;
  for (const json& one : *channels) {
    auto channel = parse_channel(one);
    if (!channel) return std::nullopt;
    device.channels.push_back(*std::move(channel));
  }
  for (const Channel& channel : device.channels) names.push_back(channel.name);
  std::ranges::sort(names);
  return std::ranges::adjacent_find(names) == names.end() ? std::optional(std::move(device)) : std::nullopt;
}

std::optional<std::vector<Reading>> parse_shared_readings(std::string_view message, std::size_t channels) {
  const auto head = parse_meter_head(message);
  if (!head || head->word != MeterWord::readings) return std::nullopt;
  Bytes bytes(message.substr(head_size));
  std::vector<Reading> readings;
  while (bytes.good() && !bytes.at_end() && readings.size() < channels) {
    Reading reading;
    reading.raw = bytes.take<std::int64_t>();
    reading.before.ns = bytes.take<std::int64_t>();
    reading.after.ns = bytes.take<std::int64_t>();
    const auto reason = bytes.take<std::uint8_t>();
    if (!known(reason) || reading.before.ns < 0 || reading.after < reading.before) return std::nullopt;
    reading.reason = static_cast<MissingReason>(reason);
    readings.push_back(reading);
  }
  return bytes.good() && bytes.at_end() && readings.size() == channels ? std::optional(std::move(readings)) : std::nullopt;
}

std::optional<std::vector<DeviceProcess>> parse_shared_processes(std::string_view message) {
  const auto head = parse_meter_head(message);
  if (!head || head->word != MeterWord::processes) return std::nullopt;
  Bytes bytes(message.substr(head_size));
  std::vector<DeviceProcess> processes;
  while (bytes.good() && !bytes.at_end()) {
    DeviceProcess process;
    process.pid = bytes.take<std::int64_t>();
    if (const auto memory = bytes.take<std::int64_t>(); memory >= 0) process.memory = memory;
    for (auto* value : {&process.busy, &process.memory_busy, &process.encoder, &process.decoder}) *value = share(bytes.take<double>());
    process.component = Component(std::string(bytes.text(bytes.take<std::uint16_t>())));
    if (process.pid <= 0 || process.component.path().empty()) return std::nullopt;
    processes.push_back(std::move(process));
  }
  return bytes.good() ? std::optional(std::move(processes)) : std::nullopt;
}

}  // namespace joulery
