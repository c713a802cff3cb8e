#include "sense/agent/meter_messages.h"

#include <gmock/gmock.h>

#include <limits>

namespace joulery {
namespace {

using ::testing::ElementsAre;

Channel package() {
  Channel channel;
  channel.component = Component("node/cpu/package-0");
  channel.name = "package-0";
  channel.unit = 1.0 / 3;  // no short decimal: it must come back to the last bit
  channel.range = std::numeric_limits<std::uint64_t>::max();
  channel.update_period = nanoseconds(976'563);
  channel.averaging_window = milliseconds(25);
  channel.scope = Scope::platform;
  channel.accuracy = {0.03, watts(0.125)};
  channel.max_power = watts(350.5);
  channel.always_burns = true;
  return channel;
}

SharedDevice device() {
  SharedDevice device{"rapl.powercap", "powercap", true, milliseconds(100), {"a remark"}, {package(), package()}};
  device.channels[1].name = "power";
  device.channels[1].measurand = Measurand::power;
  device.channels[1].behaviour = Behaviour::gauge;
  return device;
}

constexpr MeterHead head(MeterWord word) { return {word, 7, 4'000'000'000u}; }

TEST(MeterMessages, ComeBackAsTheyWent) {
  const MeterHello hello{"1.2.3", {123'456'789'012}, "read_own", "", milliseconds(100), 3};
  const auto heard = parse_meter_hello(to_message(head(MeterWord::hello), hello));
  ASSERT_TRUE(heard);
  EXPECT_EQ(heard->version, "1.2.3");
  EXPECT_EQ(heard->now.ns, 123'456'789'012);
  EXPECT_EQ(heard->scope, "read_own");
  EXPECT_EQ(heard->least_interval, milliseconds(100));
  EXPECT_EQ(heard->devices, 3u);
  EXPECT_EQ(parse_shared_device(to_message(head(MeterWord::describe), device())), device());

  const std::vector<Reading> readings{{-1, MissingReason::none, {5}, {6}}, {0, MissingReason::device_lost, {6}, {6}}};
  const auto told = parse_shared_readings(to_message(head(MeterWord::readings), readings), 2);
  ASSERT_TRUE(told);
  EXPECT_EQ((*told)[0].raw, -1);
  EXPECT_EQ((*told)[0].after.ns, 6);
  EXPECT_EQ((*told)[1].reason, MissingReason::device_lost);

  const std::vector<DeviceProcess> users{{42, Component("node/gpu/0"), 1 << 30, 0.25, {}, 0.0, 1.0},
                                         {43, Component("node/gpu/1"), {}, {}, {}, {}, {}}};
  const auto back = parse_shared_processes(to_message(head(MeterWord::processes), users));
  ASSERT_TRUE(back);
  ASSERT_EQ(back->size(), 2u);
  EXPECT_EQ((*back)[0].memory, 1 << 30);
  EXPECT_EQ((*back)[0].busy, 0.25);
  EXPECT_FALSE((*back)[0].memory_busy);
  EXPECT_EQ((*back)[0].encoder, 0.0);
  EXPECT_EQ((*back)[1].component.path(), "node/gpu/1");
  EXPECT_FALSE((*back)[1].memory);
}

TEST(MeterMessages, HeadIsRepeatedAndARequestIsAHeadAlone) {
  const std::string request = to_message(head(MeterWord::readings));
  EXPECT_EQ(parse_meter_request(request), head(MeterWord::readings));
  EXPECT_FALSE(parse_meter_request(request + "x"));
  EXPECT_FALSE(parse_meter_request(request.substr(1)));
  EXPECT_FALSE(parse_meter_request(to_message(head(MeterWord::hello)))) << "nobody asks for a hello";
}

TEST(MeterMessages, APartOfAMessageIsNothing) {
  const std::string described = to_message(head(MeterWord::describe), device());
  for (std::size_t size = 0; size < described.size(); ++size) EXPECT_FALSE(parse_shared_device(described.substr(0, size))) << size;
  const std::vector<Reading> readings(3, Reading{1, MissingReason::none, {1}, {2}});
  const std::string round = to_message(head(MeterWord::readings), readings);
  for (std::size_t size = 0; size < round.size(); ++size) EXPECT_FALSE(parse_shared_readings(round.substr(0, size), 3)) << size;
  EXPECT_FALSE(parse_shared_readings(round, 2));
  EXPECT_FALSE(parse_shared_readings(round, 4));
}

TEST(MeterMessages, ADeviceThatBreaksItsPromisesIsNothing) {
  const auto parsed = [](auto change) {
    SharedDevice changed = device();
    change(changed);
    return parse_shared_device(to_message(head(MeterWord::describe), changed)).has_value();
  };
  EXPECT_TRUE(parsed([](SharedDevice&) {}));
  EXPECT_FALSE(parsed([](SharedDevice& d) { d.channels.clear(); }));
  EXPECT_FALSE(parsed([](SharedDevice& d) { d.channels[1].name = d.channels[0].name; }));
  EXPECT_FALSE(parsed([](SharedDevice& d) { d.channels[0].unit = 0; }));
  EXPECT_FALSE(parsed([](SharedDevice& d) { d.channels[0].unit = std::numeric_limits<double>::quiet_NaN(); }));
  EXPECT_FALSE(parsed([](SharedDevice& d) { d.channels[0].component = Component(); }));
  EXPECT_FALSE(parsed([](SharedDevice& d) { d.channels[0].measurand = static_cast<Measurand>(99); }));
  EXPECT_FALSE(parsed([](SharedDevice& d) { d.channels[0].max_power = watts(-1); }));
  EXPECT_FALSE(parsed([](SharedDevice& d) { d.kind.clear(); }));
  EXPECT_FALSE(parsed([](SharedDevice& d) { d.name = std::string(5000, 'x'); }));
}

TEST(MeterMessages, AReadingThatEndsBeforeItBeginsIsNothing) {
  const std::vector<Reading> backwards{{1, MissingReason::none, {2}, {1}}}, unknown{{1, static_cast<MissingReason>(200), {1}, {2}}};
  EXPECT_FALSE(parse_shared_readings(to_message(head(MeterWord::readings), backwards), 1));
  EXPECT_FALSE(parse_shared_readings(to_message(head(MeterWord::readings), unknown), 1));
}

}  // namespace
}  // namespace joulery
