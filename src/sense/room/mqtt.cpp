#include "sense/room/mqtt.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "sense/remote/json_number.h"
#include "sense/remote/remote_settings.h"
#include "sense/room/mqtt_source.h"

namespace joulery {
namespace {

// Metering chips of plugs (HLW8012, ADE7953) are good for 1 to 2 % when calibrated.
constexpr RemoteKind kind{"mqtt", "wall", {.relative = 0.02, .absolute = {}}};
constexpr Advice not_configured{"no meter that publishes by MQTT is configured",
                                "write [meters.plug] with kind = \"mqtt\", host, topic and pointer to joulery.toml"};
constexpr std::int64_t plain_port = 1883, tls_port = 8883;
constexpr int least_keep_alive_s = 60;

Result<std::string> needed(const Settings& settings, const std::string& key, std::string hint) {
  const auto text = settings.text(key);
  if (!text) return std::unexpected(text.error());
  if (!*text || (*text)->empty()) return fail(ErrorCode::usage, fmt::format("'{}' is not set", key), {}, std::move(hint));
  return **text;
}

Result<void> read_topic(const Settings& settings, const std::string& section, const MqttApi& api, MqttPlace& place) {
  auto topic = needed(settings, section + ".topic", "such as tele/plug/SENSOR");
  if (!topic) return std::unexpected(topic.error());
  if (topic->find_first_of("+#") != std::string::npos || api.check_topic(topic->c_str()) != 0)
    return fail(ErrorCode::usage, fmt::format("'{}.topic' must be one topic, without wildcards", section),
                settings.find(section + ".topic")->origin.describe());
  const auto pointer = settings.text(section + ".pointer");
  if (!pointer) return std::unexpected(pointer.error());
  if (*pointer && !is_json_pointer(**pointer))
    return fail(ErrorCode::usage, fmt::format("'{}.pointer' must be a JSON pointer, such as /ENERGY/Power", section),
                settings.find(section + ".pointer")->origin.describe());
  place.topic = *std::move(topic);
  place.pointer = pointer->value_or("");
  return {};
}

Result<void> read_broker(const Settings& settings, const std::string& section, MqttPlace& place, std::string& warning) {
  auto host = needed(settings, section + ".host", "the broker's name or address");
  if (!host) return std::unexpected(host.error());
  const auto user = settings.text(section + ".user"), ca_file = settings.text(section + ".ca_file");
  const auto insecure = settings.flag(section + ".insecure");
  if (!user) return std::unexpected(user.error());
  if (!ca_file) return std::unexpected(ca_file.error());
  if (!insecure) return std::unexpected(insecure.error());
  const auto port = settings.whole(section + ".port", 1, 65535);
  if (!port) return std::unexpected(port.error());
  auto password = read_secret(settings, section, "password");
  if (!password) return std::unexpected(password.error());
  place.host = *std::move(host);
  place.user = user->value_or("");
  place.ca_file = ca_file->value_or("");
  place.insecure = insecure->value_or(false);
  place.port = static_cast<int>(port->value_or(place.tls() ? tls_port : plain_port));
  if (*password) {
    warning = std::move((*password)->warning);
    place.password = std::move((*password)->secret);
  }
  if (place.password && place.user.empty())
    return fail(ErrorCode::usage, fmt::format("'{}.user' is not set, and there is a password", section));
  return {};
}

Result<std::unique_ptr<RemoteSource>> make_source(const RemoteSettings& remote, const Settings& settings, std::string& warning) {
  const MqttApi* api = mosquitto();
  if (!api) return fail(ErrorCode::not_found, "libmosquitto.so.1 is not installed", {}, "sudo apt-get install libmosquitto1");
  MqttPlace place;
  if (const auto read = read_topic(settings, remote.section, *api, place); !read) return std::unexpected(read.error());
  if (const auto read = read_broker(settings, remote.section, place, warning); !read) return std::unexpected(read.error());
  const auto scaling = read_scaling(settings, remote.section);
  if (!scaling) return std::unexpected(scaling.error());
  // A round pings the broker: pauses between rounds must fit into what it waits for.
  const double longest_pause = std::max(to_seconds(remote.interval), to_seconds(remote.pace.longest_pause));
  place.keep_alive_s = std::max(least_keep_alive_s, static_cast<int>(std::min(2 * longest_pause, 30'000.0)));
  return std::make_unique<MqttSource>(*api, std::move(place), *scaling, channel_of(remote, *scaling), remote.pace.max_age);
}

}  // namespace

Discovery probe_mqtt(const Machine&, const Settings& settings) { return probe_remote(kind, settings, not_configured, make_source); }

}  // namespace joulery
