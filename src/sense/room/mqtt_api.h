// Eclipse Mosquitto's client library behind a table of functions, loaded at run time. The declarations are our own: its binary
// interface is plain C with opaque handles, as mosquitto.h of version 1.4 to 2.0 (libmosquitto.so.1) documents it.
#pragma once

namespace joulery {

struct MqttMessage {
  int id;
  char* topic;
  void* payload;
  int length;
  int quality_of_service;
  bool retained;  // kept by the broker from before we asked: not fresh
};

struct MqttApi {
  using Client = void*;
  int (*library_init)();
  Client (*create)(const char* id, bool clean_session, void* context);
  void (*destroy)(Client);
  int (*set_login)(Client, const char* user, const char* password);
  int (*set_tls)(Client, const char* ca_file, const char* ca_path, const char* certificate, const char* key,
                 int (*password)(char*, int, int, void*));
  int (*set_tls_options)(Client, int verify, const char* version, const char* ciphers);
  int (*set_tls_insecure)(Client, bool);  // of the name in the certificate alone
  int (*connect)(Client, const char* host, int port, int keep_alive_s);  // begins to; loop() goes on with it
  int (*loop)(Client, int timeout_ms, int most_packets);
  int (*subscribe)(Client, int* id, const char* topic, int quality_of_service);
  int (*check_topic)(const char*);
  const char* (*error_text)(int);
  const char* (*refusal_text)(int);
  void (*on_connect)(Client, void (*)(Client, void*, int code));
  void (*on_subscribe)(Client, void (*)(Client, void*, int id, int count, const int* granted));
  void (*on_message)(Client, void (*)(Client, void*, const MqttMessage*));
};

// What the functions return, as far as it matters.
enum class MqttReturn : int { success = 0, no_connection = 4, refused = 5, lost = 7, tls = 8, system = 14, name_unknown = 15 };
// The broker's answer to a connection (MQTT 3.1.1, table 3.1).
inline constexpr int mqtt_bad_login = 4, mqtt_not_authorised = 5;
inline constexpr int mqtt_subscription_refused = 0x80;

inline constexpr int mqtt_verify_none = 0;  // of set_tls_options: SSL_VERIFY_NONE

// The library, loaded and initialised once for the process. Null where it is not there.
const MqttApi* mosquitto();

}  // namespace joulery
