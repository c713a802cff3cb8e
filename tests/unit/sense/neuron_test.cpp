#include "sense/aws/neuron.h"

#include <gmock/gmock.h>

#include <thread>

#include "sense/aws/neuron_report.h"
#include "tests/unit/sense/fake_cards.h"

namespace joulery {
namespace {

using ::testing::HasSubstr;
using namespace joulery::testing;

class Neuron : public ::testing::Test {
 protected:
  void lay(int devices) {
    for (int device = 0; device < devices; ++device)
      tree.file("/sys/devices/virtual/neuron_device/neuron" + std::to_string(device) + "/core_count", "2\n");
  }
  void probe(std::vector<std::string> options, const char* timeout = "10s") {
    std::vector<std::string> command = {JOULERY_SOURCE_DIR "/tests/standins/fake_neuron_monitor", "-c", "/proc/self/fd/3"};
    command.insert(command.end(), options.begin(), options.end());
    probe_command(std::move(command), timeout);
  }
  void probe_command(std::vector<std::string> command, const char* timeout = "10s") {
    Settings settings;
    settings.set("neuron.command", {std::move(command), {"test"}});
    settings.set("neuron.timeout", {std::string(timeout), {"test"}});
    found = probe_neuron(tree.machine(), settings);
  }
  Meter& meter() { return *found.devices.at(0).meter; }
  // Reads until the channel gives this reason, for ten seconds at most.
  MissingReason settles_to(MissingReason reason) {
    for (int i = 0; i < 100; ++i) {
      if (read_channel(meter(), "neuron-0 utilisation").reason == reason) return reason;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return read_channel(meter(), "neuron-0 utilisation").reason;
  }

  Tree tree;
  Discovery found;
};

TEST_F(Neuron, EachDeviceHasTheMeanOfItsCoresAndItsMemory) {
  lay(2);
  probe({});
  ASSERT_EQ(found.devices.size(), 1u);
  EXPECT_EQ(found.findings.at(0).device, "2 Neuron devices");
  EXPECT_THAT(found.findings.at(0).reason, HasSubstr("no power"));
  EXPECT_DOUBLE_EQ(read_value(meter(), "neuron-0 utilisation"), 0.05);  // 0 and 10 %
  EXPECT_DOUBLE_EQ(read_value(meter(), "neuron-1 utilisation"), 0.25);  // 20 and 30 %
  EXPECT_DOUBLE_EQ(read_value(meter(), "neuron-0 memory"), 3.0 * (1 << 20));
  EXPECT_DOUBLE_EQ(read_value(meter(), "neuron-1 memory"), 7.0 * (1 << 20));
  EXPECT_DOUBLE_EQ(read_value(meter(), "neuron-1 memory_total"), 34359738368.0);
  EXPECT_EQ(channel_named(meter(), "neuron-1 memory")->component.path(), "node/gpu/neuron-1");
  for (const Channel& channel : meter().channels()) EXPECT_NE(channel.measurand, Measurand::power);
}

TEST_F(Neuron, AProgramThatEndsIsGone) {
  lay(2);
  probe({"--reports", "1"});
  ASSERT_EQ(found.devices.size(), 1u);
  EXPECT_EQ(settles_to(MissingReason::gone), MissingReason::gone);
}

TEST_F(Neuron, EachObstacleHasItsReason) {
  probe({});
  EXPECT_THAT(found.findings.at(0).reason, HasSubstr("no AWS Neuron device"));
  EXPECT_FALSE(found.findings.at(0).found);
  lay(1);
  probe_command({"/nonexistent/neuron-monitor"});
  EXPECT_THAT(found.findings.at(0).remedy, HasSubstr("aws-neuronx-tools"));
  probe({"--rubbish", "--reports", "1"});
  EXPECT_THAT(found.findings.at(0).reason, HasSubstr("gives no report"));
  probe({"--silent"}, "100ms");
  EXPECT_THAT(found.findings.at(0).reason, HasSubstr("gives no report"));
}

TEST(NeuronReport, TakesWhatIsThereAndNoMore) {
  const auto bare =
      parse_neuron_report(R"({"neuron_hardware_info":{"neuron_device_count":16,"neuroncore_per_device_count":4,"error":""}})");
  ASSERT_TRUE(bare);
  EXPECT_EQ(bare->devices, 16);
  EXPECT_EQ(bare->cores_per_device, 4);
  EXPECT_TRUE(bare->utilisation.empty());
  EXPECT_FALSE(bare->all_memory);
  for (const char* bad : {"", "{", "[]", "7", "{}", "null", "{\"instance_info\":{}}"}) EXPECT_FALSE(parse_neuron_report(bad)) << bad;
}

TEST(NeuronReport, TwoProgramsOnOneCoreAddUp) {
  const auto report = parse_neuron_report(
      R"({"neuron_runtime_data":[{"report":{"neuroncore_counters":{"neuroncores_in_use":{"3":{"neuroncore_utilization":40.5}}}}},)"
      R"({"report":{"neuroncore_counters":{"neuroncores_in_use":{"3":{"neuroncore_utilization":20},"x":{"neuroncore_utilization":1}}}}}]})");
  ASSERT_TRUE(report);
  ASSERT_EQ(report->utilisation.size(), 1u);
  EXPECT_DOUBLE_EQ(report->utilisation.at(3), 60.5);
}

}  // namespace
}  // namespace joulery
