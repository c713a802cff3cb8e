// SNMP: numbers of objects, the known distribution units, and a source over a scripted device.
#include <gmock/gmock.h>

#include <map>

#include "sense/room/snmp_reach.h"
#include "sense/room/snmp_source.h"

namespace joulery {
namespace {

using ::testing::HasSubstr;
using Kind = SnmpValue::Kind;

TEST(SnmpOid, NumbersWithPoints) {
  EXPECT_EQ(parse_snmp_oid("1.3.6.1.4.1.318"), (SnmpOid{1, 3, 6, 1, 4, 1, 318}));
  EXPECT_EQ(parse_snmp_oid(".1.3.4294967295"), (SnmpOid{1, 3, 4294967295U}));
  for (const char* wrong : {"", ".", "1", "1.", "1..3", "1.3.", "1.3.x", "1.-3", "1.3 ", "1.3.4294967296", "sysDescr.0", "1.+3"})
    EXPECT_FALSE(parse_snmp_oid(wrong)) << wrong;
  std::string longest = "1";
  for (int i = 1; i < 128; ++i) longest += ".1";
  EXPECT_TRUE(parse_snmp_oid(longest));
  EXPECT_FALSE(parse_snmp_oid(longest + ".1"));
}

TEST(SnmpValue, NumbersInEveryForm) {
  EXPECT_EQ(number_of({Kind::whole, 123}), 123.0);
  EXPECT_EQ(number_of({Kind::real, 0, 12.5}), 12.5);
  EXPECT_EQ(number_of({Kind::text, 0, 0, "12.5"}), 12.5);
  EXPECT_EQ(number_of({Kind::text, 0, 0, " 12.5 W"}), 12.5);
  EXPECT_EQ(number_of({Kind::text, 0, 0, std::string("7\0", 2)}), 7.0);
  for (const char* wrong : {"", "W", "12.5W", "1,5", "nan", "inf", "12 .5x" + 3})
    EXPECT_FALSE(number_of({Kind::text, 0, 0, wrong})) << wrong;
  EXPECT_FALSE(number_of({Kind::absent}));
  EXPECT_FALSE(number_of({Kind::other}));
}

std::vector<PduValue> values_of(std::string_view model, PduPlace place) {
  const PduModel* found = find_pdu_model(model);
  EXPECT_NE(found, nullptr);
  auto values = pdu_values(*found, place);
  EXPECT_TRUE(values) << (values ? "" : values.error());
  return values ? *values : std::vector<PduValue>();
}

TEST(PduModel, ApcCountsHundredthsOfKilowattsAndTenthsOfKilowattHours) {
  const auto values = values_of("apc-rpdu2", {.unit = 2, .outlet = {}, .inlet = {}});
  ASSERT_EQ(values.size(), 2U);
  EXPECT_EQ(to_text(values[0].oid), "1.3.6.1.4.1.318.1.1.26.4.3.1.5.2");
  EXPECT_DOUBLE_EQ(123 * values[0].unit, 1230);             // 1.23 kW
  EXPECT_EQ(to_text(values[1].oid), "1.3.6.1.4.1.318.1.1.26.4.3.1.9.2");
  EXPECT_DOUBLE_EQ(45678 * values[1].unit, 4567.8 * 3.6e6);  // 4567.8 kWh
  EXPECT_FALSE(pdu_values(*find_pdu_model("apc-rpdu2"), {.unit = 1, .outlet = 3, .inlet = {}})) << "it is read as a whole";
}

TEST(PduModel, RaritanOutletsAndInlets) {
  const auto outlet = values_of("raritan-pdu2", {.unit = 1, .outlet = 5, .inlet = {}});
  EXPECT_EQ(to_text(outlet[0].oid), "1.3.6.1.4.1.13742.6.5.4.3.1.4.1.5.5");
  EXPECT_EQ(to_text(*outlet[0].digits), "1.3.6.1.4.1.13742.6.3.5.4.1.7.1.5.5");
  EXPECT_EQ(to_text(*outlet[0].unit_code), "1.3.6.1.4.1.13742.6.3.5.4.1.6.1.5.5");
  EXPECT_EQ(to_text(outlet[1].oid), "1.3.6.1.4.1.13742.6.5.4.3.1.4.1.5.8");
  const auto inlet = values_of("raritan-pdu2", {.unit = 1, .outlet = {}, .inlet = 1});
  EXPECT_EQ(to_text(inlet[0].oid), "1.3.6.1.4.1.13742.6.5.2.3.1.4.1.1.5");
  EXPECT_EQ(to_text(*inlet[0].digits), "1.3.6.1.4.1.13742.6.3.3.4.1.7.1.1.5");
  const auto first = values_of("raritan-px1", {.unit = 1, .outlet = 8, .inlet = {}});
  EXPECT_EQ(to_text(first[0].oid), "1.3.6.1.4.1.13742.4.1.2.2.1.7.8");
  EXPECT_EQ(to_text(first[1].oid), "1.3.6.1.4.1.13742.4.1.2.2.1.31.8");
  const PduModel& model = *find_pdu_model("raritan-pdu2");
  EXPECT_FALSE(pdu_values(model, {}));
  EXPECT_FALSE(pdu_values(model, {.unit = 1, .outlet = 1, .inlet = 1}));
}

TEST(PduModel, RaritanUnitsAndDigits) {
  EXPECT_DOUBLE_EQ(*raritan_unit(Measurand::power, 0, 3), 1);
  EXPECT_DOUBLE_EQ(*raritan_unit(Measurand::power, 1, 3), 0.1);
  EXPECT_DOUBLE_EQ(*raritan_unit(Measurand::energy, 0, 5), 3600);
  EXPECT_FALSE(raritan_unit(Measurand::power, 0, 4)) << "volt-amperes are no watts";
  EXPECT_FALSE(raritan_unit(Measurand::power, -1, 3));
  EXPECT_FALSE(raritan_unit(Measurand::power, 300, 3));
}

// The discovery of RFC 3414, taken apart by hand: lengths that add up, version 3, an empty engine and user.
TEST(SnmpReach, TheDiscoveryMessageIsWellFormed) {
  const auto message = snmp_discovery_message();
  ASSERT_EQ(message.size(), 64U);
  EXPECT_EQ(message[0], 0x30);
  EXPECT_EQ(message[1], message.size() - 2);
  EXPECT_EQ(message[4], 3);
  const std::size_t global = 5, parameters = global + 2 + message[global + 1], scoped = parameters + 2 + message[parameters + 1];
  EXPECT_EQ(message[global], 0x30);
  EXPECT_EQ(message[parameters], 0x04);
  EXPECT_EQ(message[scoped], 0x30);
  EXPECT_EQ(scoped + 2 + message[scoped + 1], message.size());
}

struct ScriptedDevice {
  std::map<std::string, SnmpValue> objects;
  std::optional<Trouble> silent;
};

class ScriptedSnmp final : public SnmpTransport {
 public:
  explicit ScriptedSnmp(ScriptedDevice& device) : device_(device) {}
  Answer<std::vector<SnmpValue>> get(std::span<const SnmpOid> oids, Duration) override {
    if (device_.silent) return std::unexpected(*device_.silent);
    std::vector<SnmpValue> values;
    for (const SnmpOid& oid : oids) values.push_back(device_.objects[to_text(oid)]);
    return values;
  }

 private:
  ScriptedDevice& device_;
};

class SnmpSourceTest : public ::testing::Test {
 protected:
  SnmpSource make(const PduValue& value) {
    Channel channel;
    channel.component = Component("wall");
    return SnmpSource(std::make_unique<ScriptedSnmp>(device), value, channel);
  }
  static double worth(const SnmpSource& source, const Answer<RemoteAnswer>& answer) {
    if (!answer || source.channels().empty()) return -1;
    return static_cast<double>(*answer->values.at(0)) * source.channels()[0].unit;
  }
  ScriptedDevice device;
};

TEST_F(SnmpSourceTest, ApcPowerIsKnownBeforeItAnswers) {
  SnmpSource source = make(values_of("apc-rpdu2", {})[0]);
  ASSERT_EQ(source.channels().size(), 1U);
  device.objects["1.3.6.1.4.1.318.1.1.26.4.3.1.5.1"] = {Kind::whole, 123};
  EXPECT_DOUBLE_EQ(worth(source, source.ask(seconds(1))), 1230);
  EXPECT_EQ(source.channels()[0].accuracy.absolute, watts(5)) << "half of a hundredth of a kilowatt";
}

TEST_F(SnmpSourceTest, RaritanTellsItsDigits) {
  SnmpSource source = make(values_of("raritan-pdu2", {.unit = 1, .outlet = 5, .inlet = {}})[0]);
  EXPECT_TRUE(source.channels().empty());
  device.objects["1.3.6.1.4.1.13742.6.5.4.3.1.4.1.5.5"] = {Kind::whole, 3440};
  device.objects["1.3.6.1.4.1.13742.6.3.5.4.1.7.1.5.5"] = {Kind::whole, 1};
  device.objects["1.3.6.1.4.1.13742.6.3.5.4.1.6.1.5.5"] = {Kind::whole, 3};
  EXPECT_DOUBLE_EQ(worth(source, source.ask(seconds(1))), 344);
  device.objects["1.3.6.1.4.1.13742.6.5.4.3.1.4.1.5.5"] = {};
  EXPECT_EQ(source.ask(seconds(1)).error().reason, MissingReason::gone);
}

TEST_F(SnmpSourceTest, AnotherUnitOrNoneIsRefused) {
  SnmpSource source = make(values_of("raritan-pdu2", {.unit = 1, .outlet = 5, .inlet = {}})[0]);
  device.objects["1.3.6.1.4.1.13742.6.5.4.3.1.4.1.5.5"] = {Kind::whole, 3440};
  EXPECT_THAT(source.ask(seconds(1)).error().what, HasSubstr("does not tell the unit"));
  device.objects["1.3.6.1.4.1.13742.6.3.5.4.1.7.1.5.5"] = {Kind::whole, 1};
  device.objects["1.3.6.1.4.1.13742.6.3.5.4.1.6.1.5.5"] = {Kind::whole, 4};
  EXPECT_THAT(source.ask(seconds(1)).error().what, HasSubstr("which is no power"));
  EXPECT_TRUE(source.channels().empty());
}

TEST_F(SnmpSourceTest, AnUnknownObjectIsNamed) {
  SnmpSource source = make({{1, 3, 6, 1, 4, 1, 99999, 1, 0}, Measurand::power, 1, {}, {}});
  const auto answer = source.ask(seconds(1));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().reason, MissingReason::not_supported);
  EXPECT_EQ(answer.error().what, "the device has no object 1.3.6.1.4.1.99999.1.0");
}

TEST_F(SnmpSourceTest, FractionsTextsAndRubbish) {
  SnmpSource source = make({{1, 3, 6, 1, 4, 1, 99999, 1, 0}, Measurand::power, 1000, {}, {}});  // kilowatts
  SnmpValue& object = device.objects["1.3.6.1.4.1.99999.1.0"];
  object = {Kind::text, 0, 0, "0.3445"};
  EXPECT_NEAR(worth(source, source.ask(seconds(1))), 344.5, 0.5001) << "to a thousandth of a kilowatt";
  for (const SnmpValue& wrong : {SnmpValue{Kind::text, 0, 0, "off"}, SnmpValue{Kind::whole, -1}, SnmpValue{Kind::real, 0, 1e300}}) {
    object = wrong;
    EXPECT_EQ(source.ask(seconds(1)).error().reason, MissingReason::rubbish);
  }
}

TEST_F(SnmpSourceTest, ACounterOf32BitsWrapsWithoutALoss) {
  SnmpSource source = make({{1, 3, 6, 1, 4, 1, 99999, 2, 0}, Measurand::energy, 3600, {}, {}});
  EXPECT_TRUE(source.channels().empty()) << "how it wraps is not known yet";
  SnmpValue& object = device.objects["1.3.6.1.4.1.99999.2.0"];
  object = {Kind::counter32, 4294967295};
  const auto before = source.ask(seconds(1));
  object = {Kind::counter32, 1};
  const auto after = source.ask(seconds(1));
  ASSERT_TRUE(before && after);
  const Channel channel = source.channels().at(0);
  EXPECT_EQ(channel.behaviour, Behaviour::counter);
  const auto difference =
      (static_cast<std::uint64_t>(*after->values[0]) + channel.range + 1 - static_cast<std::uint64_t>(*before->values[0])) %
      (channel.range + 1);
  EXPECT_DOUBLE_EQ(static_cast<double>(difference) * channel.unit, 2 * 3600) << "two watt-hours";
}

TEST_F(SnmpSourceTest, SilenceIsHandedOn) {
  SnmpSource source = make(values_of("apc-rpdu2", {})[0]);
  device.silent = Trouble{MissingReason::timed_out, "no answer in 1 s"};
  EXPECT_EQ(source.ask(seconds(1)).error().what, "no answer in 1 s");
}

}  // namespace
}  // namespace joulery
