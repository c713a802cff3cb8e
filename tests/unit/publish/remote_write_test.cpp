#include "publish/remote_write.h"

#include <gtest/gtest.h>

#include "publish/gone_series.h"
#include "publish/otlp.h"
#include "publish/protobuf_writer.h"

namespace joulery {
namespace {

using namespace std::literals;

std::string hex(std::string_view bytes) {
  std::string text;
  for (const unsigned char byte : bytes) {
    constexpr char digits[] = "0123456789abcdef";
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

// The examples of protobuf.dev, "Encoding": field 1 = 150 is 08 96 01; field 2 = "testing" is 12 07 74...; a nested message of
// the first in field 3 is 1a 03 08 96 01.
TEST(ProtobufWriter, WritesTheExamplesOfTheFormat) {
  ProtobufWriter out;
  out.varint(1, 150);
  out.text(2, "testing");
  out.message(3, [&] { out.varint(1, 150); });
  out.fixed64(4, 0x0102030405060708);
  EXPECT_EQ(hex(out.bytes()),
            "089601"
            "120774657374696e67"
            "1a03089601"
            "210807060504030201");
}

TEST(ProtobufWriter, ANestedMessageMayBeLongAndDeep) {
  ProtobufWriter out;
  out.message(1, [&] { out.message(16, [&] { out.text(1, std::string(200, 'x')); }); });
  // text: 0a c8 01 + 200 = 203 bytes (cb 01); field 16: 82 01 cb 01 + 203 = 207 bytes (cf 01)
  EXPECT_EQ(hex(out.bytes().substr(0, 11)), "0acf018201cb010ac80178");
  EXPECT_EQ(out.bytes().size(), 3u + 4 + 3 + 200);
}

MetricFamily family_of(std::string name, MetricSample sample) {
  MetricFamily family;
  family.name = std::move(name);
  family.samples.push_back(std::move(sample));
  return family;
}

TEST(GoneSeries, EachIsNamedOnceAndMarkedStale) {
  GoneSeries gone;
  MetricFamily both = family_of("m", {{{"a", "1"}}, MetricValue::whole(5)});
  both.samples.push_back({{{"a", "2"}}, MetricValue::whole(6)});
  const MetricFamily one = family_of("m", {{{"a", "2"}}, MetricValue::whole(7)});
  EXPECT_TRUE(gone.since_last({&both, 1}).empty());
  const auto first = gone.since_last({&one, 1});
  ASSERT_EQ(first.size(), 1u);
  ASSERT_EQ(first[0].samples.size(), 1u);
  EXPECT_EQ(first[0].samples[0].labels, both.samples[0].labels);
  EXPECT_TRUE(gone.since_last({&one, 1}).empty());
  EXPECT_EQ(gone.since_last({}).front().samples.size(), 1u);  // the whole family
  // The marker's bits, least first, as Prometheus has them: a NaN that arithmetic made would be quiet (...f87f).
  EXPECT_NE(hex(remote_write_request(first, {}, WallTime{}).bytes).find("09020000000000f07f"), std::string::npos);
}

// By hand: timeseries 0a and its 49 bytes (31): labels (name, value) in the order of their names, then the sample: value 1.5 is
// 3ff8000000000000, timestamp 1700000000123 ms is the varint fb d0 95 ff bc 31.
TEST(RemoteWrite, AWriteRequestByHand) {
  const MetricFamily family = family_of("m", {{{"z", "1"}}, MetricValue::exact(1'500'000, 6)});
  const auto request = remote_write_request({&family, 1}, {{"a", "b"}}, WallTime{1'700'000'000'123'456'789});
  EXPECT_EQ(request.samples, 1u);
  EXPECT_EQ(hex(request.bytes),
            "0a31"
            "0a0d"
            "0a085f5f6e616d655f5f"
            "12016d"  // __name__ = m
            "0a06"
            "0a0161"
            "120162"                // a = b
            "0a06"
            "0a017a"
            "120131"                // z = 1
            "1210"
            "09000000000000f83f"
            "10fbd095ffbc31");
}

TEST(RemoteWrite, ASamplesOwnLabelWinsAnEmptyOneIsNoneAndAllIsUtf8) {
  const MetricFamily family = family_of("m", {{{"empty", ""}, {"instance", "own\xff"}}, MetricValue::real(1)});
  const auto request = remote_write_request({&family, 1}, {{"instance", "outer"}}, WallTime{0});
  EXPECT_EQ(request.bytes.find("outer"), std::string::npos);
  EXPECT_EQ(request.bytes.find("empty"), std::string::npos);
  EXPECT_NE(request.bytes.find("own\\xff"), std::string::npos);
}

TEST(RemoteWrite, KnowsNamesOfLabels) {
  for (const auto good : {"team", "a_1", "_x"}) EXPECT_TRUE(is_label_name(good)) << good;
  for (const auto bad : {"", "__name__", "1a", "a-b", "a b", "ä"}) EXPECT_FALSE(is_label_name(bad)) << bad;
}

TEST(Otlp, NamesAreThoseOfTheConventions) {
  MetricFamily family;
  family.name = "joulery_consumer_joules_total";
  family.unit = "joules";
  EXPECT_EQ(otlp_name(family), "joulery.consumer.energy");
  family.name = "joulery_component_watts";
  family.unit = "watts";
  EXPECT_EQ(otlp_name(family), "joulery.component.power");
  family.name = "joulery_conservation_violations_total";
  family.unit = "";
  EXPECT_EQ(otlp_name(family), "joulery.conservation_violations");
  EXPECT_EQ(otlp_unit("seconds"), "s");
  EXPECT_EQ(hardware_type("node/cpu/package-0"), "cpu");
  EXPECT_EQ(hardware_type("node/dram/package-1"), "memory");
  EXPECT_EQ(hardware_type("node/gpu/0"), "gpu");
  EXPECT_EQ(hardware_type("node/rest"), "rest");
  EXPECT_EQ(hardware_type("node"), "");
  EXPECT_EQ(hardware_type("wall"), "");
}

// A node of one unknown part and one that is known: no power of the host, for a sum without a part is not the host's.
TEST(Otlp, ThePowerOfAHostWithAnUnknownPartIsNotTold) {
  NodeAccount account;
  ComponentAccount cpu;
  cpu.component = "node/cpu/package-0";
  cpu.quality = Quality::measured;
  cpu.power = watts(20);
  cpu.energy[Quality::measured] = joules(5);
  account.components = {cpu};
  OtlpResource resource;
  resource.host_name = "n1";
  EXPECT_NE(otlp_request(hardware_families(account, "h"), resource, {1}, {2}).bytes.find("hw.host.power"), std::string::npos);
  cpu.component = "node/gpu/0";
  cpu.power.reset();
  account.components.push_back(cpu);
  const auto request = otlp_request(hardware_families(account, "h"), resource, {1}, {2});
  EXPECT_EQ(request.bytes.find("hw.host.power"), std::string::npos);
  EXPECT_EQ(request.points, 4u);  // two energies, one power, the host's energy
}

// By hand: a point is its time (19, 8 bytes), its attributes (3a) and flags = 1 (40 01), with no value (21 or 31) between.
TEST(Otlp, ASeriesThatHasGoneHasAPointWithoutAValue) {
  GoneSeries gone;
  MetricFamily family = family_of("joulery_component_watts", {{{"a", "b"}}, MetricValue::real(1.5)});
  family.unit = "watts";
  gone.since_last({&family, 1});
  const auto ended = gone.since_last({});
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(otlp_name(ended[0]), "joulery.component.power");  // the same line as before
  const auto request = otlp_request(ended, {}, {1}, {2});
  EXPECT_EQ(request.points, 1u);
  EXPECT_NE(hex(request.bytes)
                .find("0a15"                    // data point of 21 bytes
                      "190200000000000000"
                      "3a08"
                      "0a0161"
                      "12030a0162"
                      "4001"),
            std::string::npos)
      << hex(request.bytes);
}

}  // namespace
}  // namespace joulery
