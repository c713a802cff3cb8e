#include "sense/room/mqtt_api.h"

#include <cstddef>
#include <optional>

#include "core/shared_library.h"

namespace joulery {
namespace {

constexpr const char* library = "libmosquitto.so.1";
static_assert(offsetof(MqttMessage, payload) == 16 && offsetof(MqttMessage, retained) == 32);  // as mosquitto.h lays it out on 64 bits

std::optional<MqttApi> load() {
  const auto loaded = SharedLibrary::open({library});
  if (!loaded) return std::nullopt;
  MqttApi api{};
  const bool whole =
      loaded.find(api.library_init, "mosquitto_lib_init") && loaded.find(api.create, "mosquitto_new") &&
      loaded.find(api.destroy, "mosquitto_destroy") && loaded.find(api.set_login, "mosquitto_username_pw_set") &&
      loaded.find(api.set_tls, "mosquitto_tls_set") && loaded.find(api.set_tls_options, "mosquitto_tls_opts_set") &&
      loaded.find(api.set_tls_insecure, "mosquitto_tls_insecure_set") && loaded.find(api.connect, "mosquitto_connect_async") &&
      loaded.find(api.loop, "mosquitto_loop") && loaded.find(api.subscribe, "mosquitto_subscribe") &&
      loaded.find(api.check_topic, "mosquitto_sub_topic_check") && loaded.find(api.error_text, "mosquitto_strerror") &&
      loaded.find(api.refusal_text, "mosquitto_connack_string") && loaded.find(api.on_connect, "mosquitto_connect_callback_set") &&
      loaded.find(api.on_subscribe, "mosquitto_subscribe_callback_set") && loaded.find(api.on_message, "mosquitto_message_callback_set");
  if (!whole || api.library_init() != 0) return std::nullopt;
  return api;
}

}  // namespace

const MqttApi* mosquitto() {
  static const std::optional<MqttApi> api = load();
  return api ? &*api : nullptr;
}

}  // namespace joulery
