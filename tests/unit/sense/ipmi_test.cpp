// What a management controller says, byte by byte, and the meter made of it over a scripted controller.
#include <gtest/gtest.h>

#include <cmath>

#include "sense/node/dcmi.h"
#include "sense/node/ipmi_source.h"
#include "sense/node/sdr.h"
#include "sense/node/sdr_repository.h"
#include "tests/unit/sense/scripted_bmc.h"

namespace joulery {
namespace {

TEST(Dcmi, AsksForTheStatistics) { EXPECT_EQ(dcmi_power_request(), (IpmiRequest{0x2C, 0x02, {0xDC, 0x01, 0x00, 0x00}})); }

TEST(Dcmi, ReadsTheBytesOfTheWire) {
  const auto power = parse_dcmi_power(dcmi_on_the_wire);
  ASSERT_TRUE(power);
  EXPECT_EQ(power->current, watts(344));
  EXPECT_EQ(power->least, watts(271));
  EXPECT_EQ(power->greatest, watts(489));
  EXPECT_EQ(power->mean, watts(319));
  EXPECT_EQ(power->time, 0x6b0ccb42U);
  EXPECT_EQ(power->period, milliseconds(1000));
  EXPECT_TRUE(power->active);
}

TEST(Dcmi, InactiveWithNoWattsIsNoReading) {
  Bytes bytes = dcmi_on_the_wire;
  bytes[17] = 0;
  ASSERT_TRUE(parse_dcmi_power(bytes)) << "some controllers never set the bit: their watts count";
  bytes[1] = bytes[2] = 0;
  const auto power = parse_dcmi_power(bytes);
  ASSERT_FALSE(power);
  EXPECT_EQ(power.error().reason, MissingReason::not_supported);
  bytes[17] = 0x40;
  ASSERT_TRUE(parse_dcmi_power(bytes));
  EXPECT_EQ(parse_dcmi_power(bytes)->current, watts(0)) << "an active measurement of nothing is 0 W";
}

TEST(Dcmi, EveryShorterReplyIsRubbish) {
  for (std::size_t size = 0; size < dcmi_on_the_wire.size(); ++size) {
    const auto power = parse_dcmi_power(std::span(dcmi_on_the_wire).first(size));
    ASSERT_FALSE(power) << size;
    EXPECT_EQ(power.error().reason, MissingReason::rubbish);
  }
  Bytes other = dcmi_on_the_wire;
  other[0] = 0xDD;
  EXPECT_FALSE(parse_dcmi_power(other));
}

TEST(Ipmi, CompletionCodesHaveReasons) {
  EXPECT_EQ(completion_trouble(0xC1).reason, MissingReason::not_supported);
  EXPECT_EQ(completion_trouble(0xC3).reason, MissingReason::timed_out);
  EXPECT_EQ(completion_trouble(0xCB).reason, MissingReason::gone);
  EXPECT_EQ(completion_trouble(0xD4).reason, MissingReason::permission);
  EXPECT_EQ(completion_trouble(0x85).what, "completion code 85");
  EXPECT_EQ(completion_trouble(0xC7).what, "completion code C7: request of invalid length");
}

TEST(Sdr, ReadsARecordOfWatts) {
  const auto sensor = parse_watt_sensor(supply_record);
  ASSERT_TRUE(sensor);
  EXPECT_EQ(sensor->name, "PSU1 Power In");
  EXPECT_EQ(sensor->number, 1);
  EXPECT_EQ(sensor->entity, 10);
  EXPECT_EQ(sensor->owner, 0x20);
  EXPECT_EQ(sensor_value(sensor->factors, 86), 344.0);
  EXPECT_EQ(sensor_value(sensor->factors, 255), 1020.0);
}

TEST(Sdr, UsesAllFactors) {
  const auto sensor = parse_watt_sensor(processor_record);
  ASSERT_TRUE(sensor);
  EXPECT_EQ(sensor->factors.m, 25);
  EXPECT_EQ(sensor->factors.b, -5);
  EXPECT_EQ(sensor->factors.b_exponent, 1);
  EXPECT_EQ(sensor->factors.result_exponent, -1);
  EXPECT_EQ(sensor->factors.tolerance, 2);
  EXPECT_DOUBLE_EQ(sensor->factors.accuracy, 0.025);
  EXPECT_DOUBLE_EQ(*sensor_value(sensor->factors, 100), 245.0);  // (25 * 100 - 5 * 10) / 10
  EXPECT_DOUBLE_EQ(sensor_step(sensor->factors, 100), 3.75);     // 2.5 W a count, half a count and two halves of tolerance
}

TEST(Sdr, OtherRecordsAreNoSensorsOfWatts) {
  EXPECT_FALSE(parse_watt_sensor(locator_record));
  EXPECT_FALSE(parse_watt_sensor(degrees_record));
  Bytes rate = supply_record;
  rate[20] = 3 << 3;  // watts per second
  EXPECT_FALSE(parse_watt_sensor(rate));
  Bytes percent = supply_record;
  percent[20] = 1;
  EXPECT_FALSE(parse_watt_sensor(percent));
  Bytes discrete = supply_record;
  discrete[13] = 0x6F;
  EXPECT_FALSE(parse_watt_sensor(discrete));
  EXPECT_FALSE(parse_watt_sensor(std::span(supply_record).first(47)));
  EXPECT_TRUE(parse_watt_sensor(std::span(supply_record).first(50))) << "a name cut short is no reason to lose the sensor";
}

TEST(Sdr, NamesInEveryCoding) {
  Bytes record(supply_record.begin(), supply_record.begin() + 47);
  Bytes bcd = record;
  bcd.insert(bcd.end(), {0x42, 0x12, 0xA3});  // BCD plus: "12 3"
  EXPECT_EQ(parse_watt_sensor(bcd)->name, "12 3");
  Bytes packed = record;
  packed.insert(packed.end(), {0x83, 0x29, 0xDC, 0xA6});  // the specification's own example of 6-bit ASCII: "IPMI"
  EXPECT_EQ(parse_watt_sensor(packed)->name, "IPMI");
  Bytes wild = record;
  wild.insert(wild.end(), {0xC4, 'A', 0x00, 0xFF, 'B'});
  EXPECT_EQ(parse_watt_sensor(wild)->name, "A  B");
}

TEST(Sdr, RawNumbersInEveryFormat) {
  SdrFactors factors;
  EXPECT_EQ(sensor_value(factors, 0xFF), 255.0);
  factors.format = SdrFactors::Format::twos_complement;
  EXPECT_EQ(sensor_value(factors, 0xFF), -1.0);
  EXPECT_EQ(sensor_value(factors, 0x80), -128.0);
  factors.format = SdrFactors::Format::ones_complement;
  EXPECT_EQ(sensor_value(factors, 0xFE), -1.0);
  EXPECT_EQ(sensor_value(factors, 0xFF), 0.0);
  factors.format = SdrFactors::Format::none;
  EXPECT_FALSE(sensor_value(factors, 1));
}

// Table 43-1: ln, log10, log2, e, exp10, exp2, 1/x, square, cube, square root, cube root, in this order from 1.
TEST(Sdr, EveryFormula) {
  const double at_64[] = {64, std::log(64.0), 1.806179973983887, 6, std::exp(64.0), 1e64, 18446744073709551616.0, 1.0 / 64, 4096, 262144, 8,
                          4};
  for (std::uint8_t formula = 0; formula < 12; ++formula) {
    SdrFactors factors;
    factors.linearisation = formula;
    const auto value = sensor_value(factors, 64);
    ASSERT_TRUE(value) << int{formula};
    EXPECT_NEAR(*value / at_64[formula], 1, 1e-12) << int{formula};
  }
  for (const int formula : {1, 2, 3, 7}) {
    SdrFactors factors;
    factors.linearisation = static_cast<std::uint8_t>(formula);
    EXPECT_FALSE(sensor_value(factors, 0)) << formula << ": no logarithm nor inverse of 0";
  }
  SdrFactors unknown;
  unknown.linearisation = 0x70;
  EXPECT_FALSE(sensor_value(unknown, 1));
}

TEST(Sdr, AReadingMustBeThere) {
  EXPECT_EQ(parse_sensor_reading(Bytes{86, 0xC0, 0xC0}), 86);
  EXPECT_EQ(parse_sensor_reading(Bytes{86, 0xE0}).error().reason, MissingReason::gone) << "unavailable";
  EXPECT_EQ(parse_sensor_reading(Bytes{86, 0x80}).error().reason, MissingReason::gone) << "scanning is switched off";
  EXPECT_EQ(parse_sensor_reading(Bytes{86}).error().reason, MissingReason::rubbish);
}

class IpmiSourceTest : public ::testing::Test {
 protected:
  IpmiSourceTest() {
    bmc.dcmi = {0, dcmi_on_the_wire};
    bmc.records = {locator_record, supply_record, degrees_record, processor_record};
    bmc.sensors = {{1, {0, {86, 0xC0}}}, {3, {0, {100, 0xC0}}}};
  }
  IpmiPower look() {
    ScriptedTransport transport(bmc);
    auto power = look_for_power(transport, seconds(5));
    EXPECT_TRUE(power);
    return power ? *power : IpmiPower();
  }
  std::unique_ptr<IpmiSource> make() { return std::make_unique<IpmiSource>(std::make_unique<ScriptedTransport>(bmc), WholeNode{}); }
  // Watts of each channel, -1 for a missing one.
  std::vector<double> ask(IpmiSource& source) {
    answer = source.ask(seconds(5));
    std::vector<double> watts;
    if (answer)
      for (const RemoteValue& value : answer->values) watts.push_back(value ? static_cast<double>(*value) * 1e-3 : -1);
    return watts;
  }
  ScriptedBmc bmc;
  Answer<RemoteAnswer> answer;
};

TEST_F(IpmiSourceTest, FindsDcmiAndTheSensorsOfWatts) {
  const auto source = make();
  EXPECT_EQ(ask(*source), (std::vector<double>{344, 344, 245}));
  const auto channels = source->channels();
  ASSERT_EQ(channels.size(), 3U);
  EXPECT_EQ(channels[0].component.path(), "node");
  EXPECT_EQ(channels[0].scope, Scope::component);
  EXPECT_EQ(channels[0].unit, 1e-3);
  EXPECT_EQ(channels[1].component.path(), "node/board/PSU1-Power-In");
  EXPECT_EQ(channels[1].scope, Scope::platform);
  EXPECT_EQ(channels[2].name, "CPU Power");
}

TEST_F(IpmiSourceTest, WithoutDcmiTheSensorsRemain) {
  bmc.dcmi = {0xC1, {}};
  Bytes whole = supply_record;
  whole.resize(48);
  for (const char c : std::string_view("Pwr Consumption")) whole.push_back(static_cast<std::uint8_t>(c));
  whole[47] = 0xC0 | 15, whole[4] = static_cast<std::uint8_t>(whole.size() - 5);
  bmc.records = {whole};
  const auto source = make();
  EXPECT_EQ(ask(*source), std::vector<double>{344});
  const auto channels = source->channels();
  ASSERT_EQ(channels.size(), 1U);
  EXPECT_EQ(channels[0].component.path(), "node") << "a sensor of the whole system";
  EXPECT_EQ(channels[0].scope, Scope::component);
}

TEST_F(IpmiSourceTest, NeitherDcmiNorSensorsIsSaid) {
  bmc.dcmi = {0xC1, {}};
  bmc.records = {locator_record, degrees_record};
  ask(*make());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().reason, MissingReason::not_supported);
  EXPECT_NE(answer.error().what.find("C1"), std::string::npos);
  bmc.dcmi = {0xD4, {}};
  ask(*make());
  EXPECT_EQ(answer.error().reason, MissingReason::permission);
  EXPECT_NE(answer.error().remedy.find("privilege"), std::string::npos);
}

TEST_F(IpmiSourceTest, TwoSensorsOfOneNameStayTwo) {
  bmc.records = {supply_record, supply_record, supply_record};
  const auto channels = ipmi_channels(look(), WholeNode{});
  ASSERT_EQ(channels.size(), 4U);
  EXPECT_EQ(channels[1].name, "PSU1 Power In");
  EXPECT_EQ(channels[2].name, "PSU1 Power In #2");
  EXPECT_EQ(channels[3].name, "PSU1 Power In #3");
  EXPECT_EQ(channels[3].component.path(), "node/board/PSU1-Power-In+2");
}

TEST_F(IpmiSourceTest, AReservationThatIsCancelledIsMadeAgain) {
  bmc.cancel_reservations = 3;
  EXPECT_EQ(look().sensors.size(), 2U);
  bmc.cancel_reservations = 1000;
  EXPECT_EQ(look().sensors.size(), 0U) << "and given up after a while";
}

TEST_F(IpmiSourceTest, AControllerThatGivesNoMoreThanABitAtOnce) {
  bmc.most_bytes = 19;
  EXPECT_EQ(look().sensors.size(), 2U);
}

TEST_F(IpmiSourceTest, AChainOfRecordsThatNeverEndsIsLeft) {
  struct Loop final : IpmiTransport {
    Answer<IpmiReply> exchange(const IpmiRequest& request, Duration) override {
      if (request.command == 0x22) return IpmiReply{0, {1, 0}};
      const auto next = static_cast<std::uint8_t>(request.data.at(2) ^ 1);
      return IpmiReply{0, {next, 0, 0, 0, 0x51, 0x12, 0}};
    }
  } loop;
  EXPECT_TRUE(find_watt_sensors(loop, mono_now() + seconds(60)));
}

TEST_F(IpmiSourceTest, FailureOfTheCarrierCostsOneExchangeARound) {
  const auto source = make();
  ask(*source);
  bmc.silent = Trouble{MissingReason::timed_out, "no answer in 5 s"};
  bmc.exchanges = 0;
  ask(*source);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().reason, MissingReason::timed_out);
  EXPECT_EQ(bmc.exchanges, 1);
  bmc.silent.reset();
  EXPECT_EQ(ask(*source), (std::vector<double>{344, 344, 245}));
}

TEST_F(IpmiSourceTest, OneBadSensorCostsItselfAlone) {
  const auto source = make();
  ask(*source);
  bmc.sensors[1] = {0xCB, {}};
  EXPECT_EQ(ask(*source), (std::vector<double>{344, -1, 245}));
  EXPECT_EQ(answer->values[1].error(), MissingReason::gone);
  bmc.dcmi = {0, {0xFF, 0xFF}};
  bmc.sensors[1] = {0, {86, 0xC0}};
  bmc.sensors[3] = {0, {0, 0xC0}};  // -5 W by its factors: no power of a load
  EXPECT_EQ(ask(*source), (std::vector<double>{-1, 344, -1}));
  EXPECT_EQ(answer->values[0].error(), MissingReason::rubbish);
  EXPECT_EQ(answer->values[2].error(), MissingReason::rubbish);
}

TEST_F(IpmiSourceTest, OneThatDoesNotAnswerAtFirstIsTakenToHaveDcmi) {
  bmc.silent = Trouble{MissingReason::timed_out, "no answer in 5 s"};
  const auto source = make();
  ask(*source);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().what, "no answer in 5 s");
  ASSERT_EQ(source->channels().size(), 1U);
  bmc.silent.reset();
  EXPECT_EQ(ask(*source), std::vector<double>{344}) << "and its channels stay";
}

}  // namespace
}  // namespace joulery
