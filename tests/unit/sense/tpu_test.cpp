#include "sense/google/tpu.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "sense/google/tpu_metric.h"
#include "tests/unit/sense/fake_cards.h"
#include "tests/unit/sense/helper_process.h"

namespace joulery {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::string_literals;
using namespace joulery::testing;

constexpr const char* v4 = "0x005e";

class Tpu : public ::testing::Test {
 protected:
  static std::vector<std::string> service(std::vector<std::string> options) {
    std::vector<std::string> command = {"/usr/bin/python3", JOULERY_SOURCE_DIR "/tests/standins/fake_tpu.py"};
    command.insert(command.end(), options.begin(), options.end());
    return command;
  }
  void lay(int chips, const char* device = v4) {
    for (int chip = 0; chip < chips; ++chip)
      lay_pci_card(tree, "0000:00:0" + std::to_string(chip + 4) + ".0", "0x1ae0", device, "0x088000");
    lay_pci_card(tree, "0000:00:03.0", "0x1ae0", "0x0042", "0x020000");  // Google's network card
  }
  void probe(std::vector<std::string> ports, const char* timeout = "10s") {
    Settings settings;
    settings.set("tpu.ports", {std::move(ports), {"test"}});
    settings.set("tpu.timeout", {std::string(timeout), {"test"}});
    found = probe_tpu(tree.machine(), settings);
  }
  Meter& meter() { return *found.devices.at(0).meter; }

  Tree tree;
  Discovery found;
};

#define NEED(process) \
  if ((process).line().empty()) GTEST_SKIP() << "skipped: no python3-grpcio"

TEST_F(Tpu, EachChipHasItsDutyCycleAndMemory) {
  HelperProcess runtime(service({"--chips", "2", "--duty", "87.5", "--used", "5000", "--total", "34359738368"}));
  NEED(runtime);
  lay(2);
  probe({runtime.line()});
  ASSERT_EQ(found.findings.size(), 1u);
  EXPECT_EQ(found.findings[0].device, "2 x TPU v4");
  EXPECT_TRUE(found.findings[0].readable);
  EXPECT_THAT(found.findings[0].reason, HasSubstr("estimated"));
  EXPECT_DOUBLE_EQ(read_value(meter(), "tpu-0 utilisation"), 0.875);
  EXPECT_DOUBLE_EQ(read_value(meter(), "tpu-1 utilisation"), 0.885);
  EXPECT_DOUBLE_EQ(read_value(meter(), "tpu-1 memory"), 5001);
  EXPECT_DOUBLE_EQ(read_value(meter(), "tpu-1 memory_total"), 34359738368.0);
  EXPECT_EQ(channel_named(meter(), "tpu-1 utilisation")->component.path(), "node/gpu/tpu-1");
  EXPECT_TRUE(found.devices[0].slow);
  for (const Channel& channel : meter().channels()) EXPECT_NE(channel.measurand, Measurand::power);  // none is published
}

TEST_F(Tpu, ChipsOfTwoCoresAreOneEach) {
  HelperProcess runtime(service({"--chips", "1", "--cores-per-chip", "2", "--used", "5000"}));
  NEED(runtime);
  lay(1, "0x0076");
  probe({runtime.line()});
  EXPECT_DOUBLE_EQ(read_value(meter(), "tpu-0 memory"), 10000);
  EXPECT_DOUBLE_EQ(read_value(meter(), "tpu-0 utilisation"), 0.5);
}

TEST_F(Tpu, ProgramsWithAPortEachNumberTheirChipsAnew) {
  HelperProcess one(service({"--chips", "2", "--duty", "10"})), two(service({"--chips", "2", "--duty", "50"}));
  NEED(one);
  lay(4);
  probe({one.line(), two.line()});
  for (const auto& [name, value] :
       {std::pair("tpu-0 utilisation", 0.10), {"tpu-1 utilisation", 0.11}, {"tpu-2 utilisation", 0.50}, {"tpu-3 utilisation", 0.51}})
    EXPECT_DOUBLE_EQ(read_value(meter(), name), value) << name;
}

TEST_F(Tpu, AProgramThatIsNotThereYetIsWaitedForByMissingReadings) {
  lay(1);
  probe({"1"});  // nobody listens there
  ASSERT_EQ(found.findings.size(), 1u);
  EXPECT_FALSE(found.findings[0].readable);
  EXPECT_THAT(found.findings[0].reason, HasSubstr("runs within a program"));
  EXPECT_EQ(read_channel(meter(), "tpu-0 utilisation").reason, MissingReason::gone);
}

TEST_F(Tpu, AProgramThatEndsCostsItsReadings) {
  HelperProcess runtime(service({"--chips", "1"}));
  NEED(runtime);
  lay(1);
  probe({runtime.line()});
  EXPECT_TRUE(read_channel(meter(), "tpu-0 utilisation").ok());
  runtime.stop();
  EXPECT_EQ(read_channel(meter(), "tpu-0 utilisation").reason, MissingReason::gone);
}

TEST_F(Tpu, ASlowServiceTimesOut) {
  HelperProcess runtime(service({"--chips", "1", "--delay", "5"}));
  NEED(runtime);
  lay(1);
  probe({runtime.line()}, "100ms");
  EXPECT_EQ(read_channel(meter(), "tpu-0 utilisation").reason, MissingReason::timed_out);
}

TEST_F(Tpu, RubbishIsCalledSo) {
  HelperProcess runtime(service({"--chips", "1", "--rubbish"}));
  NEED(runtime);
  lay(1);
  probe({runtime.line()});
  EXPECT_EQ(read_channel(meter(), "tpu-0 utilisation").reason, MissingReason::rubbish);
}

TEST_F(Tpu, WithoutAChipNobodyIsAsked) {
  lay(0);
  probe({"1"});
  EXPECT_TRUE(found.devices.empty());
  EXPECT_FALSE(found.findings.at(0).found);
}

// device-id 3, gauge 12.5: laid out by hand after the format's own rules.
const std::string gauge_message =
    "\x0a\x1c\x0a\x01n\x1a\x17\x0a\x0a\x0a\x03"
    "dev\x12\x03\x18\x83\x00"s
    "\x1a\x09\x09\x00\x00\x00\x00\x00\x00\x29\x40"s;

TEST(TpuMetric, IsDecodedByTheRulesOfTheFormat) {
  const auto values = parse_tpu_metric(gauge_message);
  ASSERT_TRUE(values);
  ASSERT_EQ(values->size(), 1u);
  EXPECT_EQ((*values)[0].device, 3);
  EXPECT_DOUBLE_EQ((*values)[0].value, 12.5);
  EXPECT_EQ(tpu_metric_request("abc"),
            "\x0a\x03"
            "abc");
}

TEST(TpuMetric, WhatIsCutShortIsNoMessage) {
  for (std::size_t size = 1; size < gauge_message.size(); ++size)
    EXPECT_FALSE(parse_tpu_metric(std::string_view(gauge_message).substr(0, size))) << size;
  EXPECT_TRUE(parse_tpu_metric("")->empty());
  EXPECT_FALSE(parse_tpu_metric("\x0b"));
}

}  // namespace
}  // namespace joulery
