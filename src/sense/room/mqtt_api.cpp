#include "sense/room/mqtt_api.h"

#include <dlfcn.h>

#include <cstddef>
#include <optional>

namespace joulery {
namespace {

constexpr const char* library = "libmosquitto.so.1";
static_assert(offsetof(MqttMessage, payload) == 16 && offsetof(MqttMessage, retained) == 32);  // as mosquitto.h lays it out on 64 bits

template <class Function>
bool find(void* handle, Function& function, const char* name) {
  function = reinterpret_cast<Function>(::dlsym(handle, name));
  return function != nullptr;
}

std::optional<MqttApi> load() {
  void* handle = ::dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!handle) return std::nullopt;
  MqttApi api{};
  const bool whole = find(handle, api.library_init, "mosquitto_lib_init") && find(handle, api.create, "mosquitto_new") &&
                     find(handle, api.destroy, "mosquitto_destroy") && find(handle, api.set_login, "mosquitto_username_pw_set") &&
                     find(handle, api.set_tls, "mosquitto_tls_set") && find(handle, api.set_tls_insecure, "mosquitto_tls_insecure_set") &&
                     find(handle, api.connect, "mosquitto_connect_async") && find(handle, api.loop, "mosquitto_loop") &&
                     find(handle, api.subscribe, "mosquitto_subscribe") && find(handle, api.check_topic, "mosquitto_sub_topic_check") &&
                     find(handle, api.error_text, "mosquitto_strerror") && find(handle, api.refusal_text, "mosquitto_connack_string") &&
                     find(handle, api.on_connect, "mosquitto_connect_callback_set") &&
                     find(handle, api.on_subscribe, "mosquitto_subscribe_callback_set") &&
                     find(handle, api.on_message, "mosquitto_message_callback_set");
  if (!whole || api.library_init() != 0) return std::nullopt;
  return api;
}

}  // namespace

const MqttApi* mosquitto() {
  static const std::optional<MqttApi> api = load();
  return api ? &*api : nullptr;
}

}  // namespace joulery
