// A plug that publishes by MQTT, with a client library that does as the test says.
#include <gmock/gmock.h>

#include <deque>
#include <memory>

#include "sense/room/mqtt_source.h"

namespace joulery {
namespace {

using ::testing::HasSubstr;

// The library's other side: one client at a time.
struct FakeBroker {
  int connection_code = 0, granted = 0, loop_code = 0, connect_code = 0;
  bool silent = false;  // takes the connection and never answers it
  struct Published {
    std::string payload;
    bool retained;
  };
  std::deque<Published> queue;
  int clients = 0, connections = 0;
  std::string topic;

  void* context = nullptr;
  bool told_connection = false, asked = false, told_subscription = false;
  void (*connected)(void*, void*, int) = nullptr;
  void (*subscribed)(void*, void*, int, int, const int*) = nullptr;
  void (*received)(void*, void*, const MqttMessage*) = nullptr;
};
FakeBroker broker;

void* create(const char*, bool, void* context) {
  ++broker.clients;
  broker.context = context;
  broker.told_connection = broker.asked = broker.told_subscription = false;
  return &broker;
}

void deliver() {
  std::string payload = broker.queue.front().payload;
  const MqttMessage message{1, broker.topic.data(), payload.data(), static_cast<int>(payload.size()), 0, broker.queue.front().retained};
  broker.queue.pop_front();
  broker.received(&broker, broker.context, &message);
}

int loop(void*, int, int) {
  if (broker.loop_code != 0) return broker.loop_code;
  if (broker.silent) return 0;
  if (!std::exchange(broker.told_connection, true)) {
    broker.connected(&broker, broker.context, broker.connection_code);
  } else if (broker.asked && !std::exchange(broker.told_subscription, true)) {
    broker.subscribed(&broker, broker.context, 1, 1, &broker.granted);
  } else if (broker.told_subscription && !broker.queue.empty()) {
    deliver();
  }
  return 0;
}

MqttApi fake_api() {
  MqttApi api{};
  api.create = create;
  api.destroy = [](void*) { --broker.clients; };
  api.set_login = [](void*, const char*, const char*) { return 0; };
  api.connect = [](void*, const char*, int, int) {
    ++broker.connections;
    return broker.connect_code;
  };
  api.loop = loop;
  api.subscribe = [](void*, int*, const char* topic, int) {
    broker.topic = topic;
    broker.asked = true;
    return 0;
  };
  api.error_text = [](int) { return "an error"; };
  api.refusal_text = [](int) { return "a refusal"; };
  api.on_connect = [](void*, void (*call)(void*, void*, int)) { broker.connected = call; };
  api.on_subscribe = [](void*, void (*call)(void*, void*, int, int, const int*)) { broker.subscribed = call; };
  api.on_message = [](void*, void (*call)(void*, void*, const MqttMessage*)) { broker.received = call; };
  return api;
}

class MqttSourceTest : public ::testing::Test {
 protected:
  MqttSourceTest() { broker = {}; }
  std::unique_ptr<MqttSource> make(Duration max_age = seconds(60)) {
    MqttPlace place;
    place.host = "broker";
    place.topic = "tele/plug/SENSOR";
    place.pointer = "/ENERGY/Power";
    Channel channel;
    channel.component = Component("wall");
    return std::make_unique<MqttSource>(api, std::move(place), Scaling{}, channel, max_age);
  }
  static void publish(const std::string& watts, bool retained = false) {
    broker.queue.push_back({R"({"ENERGY":{"Power":)" + watts + "}}", retained});
  }
  // Steps of a thousandth of a watt; the reason where it is missing.
  static RemoteValue value(const Answer<RemoteAnswer>& answer) {
    return answer ? answer->values.at(0) : std::unexpected(answer.error().reason);
  }
  MqttApi api = fake_api();
};

TEST_F(MqttSourceTest, TakesTheNewestMessage) {
  const auto source = make();
  publish("345.5");
  EXPECT_EQ(value(source->ask(seconds(1))), 345500);
  EXPECT_EQ(broker.topic, "tele/plug/SENSOR");
  publish("1");
  publish("2");
  publish("3");
  EXPECT_EQ(value(source->ask(seconds(1))), 3000);
  EXPECT_EQ(value(source->ask(seconds(1))), 3000) << "held until the next one";
  EXPECT_EQ(broker.connections, 1);
}

TEST_F(MqttSourceTest, ARetainedMessageIsNeverAReading) {
  const auto source = make();
  publish("99", true);
  const auto first = source->ask(milliseconds(50));
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().reason, MissingReason::timed_out);
  EXPECT_THAT(first.error().what, HasSubstr("may be of any age"));
  EXPECT_EQ(value(source->ask(seconds(1))).error(), MissingReason::timed_out) << "missing, and the connection stands";
  EXPECT_EQ(broker.connections, 1);
  publish("5");
  publish("99", true);
  EXPECT_EQ(value(source->ask(seconds(1))), 5000);
}

TEST_F(MqttSourceTest, AnOldMessageIsMissing) {
  const auto source = make(Duration{});
  publish("5");
  EXPECT_EQ(value(source->ask(seconds(1))).error(), MissingReason::timed_out);
}

TEST_F(MqttSourceTest, RubbishIsSaidAtFirstAndMissingLater) {
  const auto source = make();
  broker.queue.push_back({"ON", false});
  const auto first = source->ask(seconds(1));
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().reason, MissingReason::rubbish);
  publish("5");
  EXPECT_EQ(value(source->ask(seconds(1))), 5000);
  broker.queue.push_back({std::string(70'000, '1'), false});
  EXPECT_EQ(value(source->ask(seconds(1))).error(), MissingReason::rubbish);
  broker.queue.push_back({"", false});
  EXPECT_EQ(value(source->ask(seconds(1))).error(), MissingReason::rubbish);
  broker.queue.push_back({R"({"ENERGY":{}})", false});
  EXPECT_FALSE(value(source->ask(seconds(1))));
}

TEST_F(MqttSourceTest, RefusalsAreToldApart) {
  broker.connection_code = mqtt_bad_login;
  EXPECT_THAT(make()->ask(seconds(1)).error().what, HasSubstr("refuses this user or password"));
  broker.connection_code = 0;
  broker.granted = mqtt_subscription_refused;
  const auto topic = make()->ask(seconds(1));
  EXPECT_EQ(topic.error().reason, MissingReason::permission);
  EXPECT_THAT(topic.error().what, HasSubstr("tele/plug/SENSOR"));
  EXPECT_EQ(broker.clients, 0) << "nothing is left behind";
}

TEST_F(MqttSourceTest, ALostConnectionIsMadeAnew) {
  const auto source = make();
  publish("5");
  EXPECT_EQ(value(source->ask(seconds(1))), 5000);
  broker.loop_code = static_cast<int>(MqttReturn::lost);
  EXPECT_EQ(value(source->ask(seconds(1))).error(), MissingReason::gone);
  broker.loop_code = 0;
  publish("6");
  EXPECT_EQ(value(source->ask(seconds(1))), 6000);
  EXPECT_EQ(broker.connections, 2);
}

TEST_F(MqttSourceTest, ASilentOrUnknownBroker) {
  broker.silent = true;
  EXPECT_EQ(make()->ask(milliseconds(20)).error().reason, MissingReason::timed_out);
  broker.connect_code = static_cast<int>(MqttReturn::name_unknown);
  EXPECT_EQ(make()->ask(milliseconds(20)).error().reason, MissingReason::gone);
}

}  // namespace
}  // namespace joulery
