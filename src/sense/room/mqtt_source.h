// A wall meter or plug that publishes its power or energy by MQTT (Tasmota, Shelly, and whatever has a topic and a JSON
// pointer). The broker pushes: a round takes the newest message that came until then, and holds it until the next one, for no
// longer than the section's max_age.
//
// Invariant: a retained message is never a reading, for nobody knows how old it is; it only proves the topic and the pointer.
#pragma once

#include <optional>
#include <string>

#include "config/secret.h"
#include "sense/remote/meter_unit.h"
#include "sense/remote/remote_meter.h"
#include "sense/room/mqtt_api.h"

namespace joulery {

struct MqttPlace {
  std::string host;
  int port = 1883;
  std::string user;
  std::optional<Secret> password;
  std::string ca_file;      // who vouches for the broker's certificate
  bool insecure = false;    // any certificate will do
  std::string topic;        // without wildcards
  std::string pointer;      // JSON pointer to the number: "" where the message is the number
  int keep_alive_s = 60;
  bool tls() const { return insecure || !ca_file.empty(); }
};

// What the newest message was worth.
struct MqttValue {
  RemoteValue counts = std::unexpected(MissingReason::timed_out);
  MonoTime received;
  std::string wrong;        // why it is no number
};

class MqttSource final : public RemoteSource {
 public:
  MqttSource(const MqttApi& api, MqttPlace place, Scaling scaling, Channel channel, Duration max_age)
      : api_(api), place_(std::move(place)), scaling_(scaling), channel_(std::move(channel)), max_age_(max_age) {}
  MqttSource(const MqttSource&) = delete;
  MqttSource& operator=(const MqttSource&) = delete;
  ~MqttSource() override { drop(); }

  std::vector<Channel> channels() const override { return {channel_}; }
  // Connects where there is no connection, then takes what has come. The first time it also waits for a message, and its
  // absence is an error; later it is a missing value.
  // Errors: permission, timed_out, gone, io_error; rubbish for a first message without a number.
  Answer<RemoteAnswer> ask(Duration limit) override;

 private:
  Answer<void> connect(MonoTime deadline);
  Answer<void> begin();
  Answer<void> use_tls();
  Answer<void> take_messages(MonoTime until);
  Answer<void> loop_once(Duration wait);
  Answer<RemoteAnswer> first_message(MonoTime deadline);
  RemoteAnswer newest(MonoTime now) const;
  Trouble trouble_of(int code) const;
  std::string broker() const;
  void drop();
  static void connected(void*, void* self, int code);
  static void subscribed(void*, void* self, int, int count, const int* granted);
  static void received(void*, void* self, const MqttMessage* message);

  const MqttApi& api_;
  MqttPlace place_;
  Scaling scaling_;
  Channel channel_;
  Duration max_age_;
  MqttApi::Client client_ = nullptr;
  std::optional<int> connection_code_, granted_;  // the broker's answers
  std::optional<MqttValue> fresh_, retained_;
  std::uint64_t messages_ = 0;
  bool asked_ = false;
};

}  // namespace joulery
