#include "sense/intel/level_zero.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "sense/hwmon/hwmon.h"
#include "tests/unit/sense/fake_cards.h"

namespace joulery {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;
using namespace joulery::testing;

class LevelZero : public ::testing::Test {
 protected:
  ~LevelZero() override { found = {}; }
  void lay(std::initializer_list<const char*> addresses) {
    for (const char* address : addresses) lay_pci_card(tree, address, "0x8086", "0x0bd5");
  }
  void probe(const std::string& script) {
    ze.play(tree, script);
    found = probe_level_zero(tree.machine());
  }
  Meter& gpu(std::size_t index) { return *found.devices.at(index).meter; }

  Tree tree;
  FakeLibrary ze{"libze_loader.so.1", "FAKE_LEVEL_ZERO_SCRIPT"};
  Discovery found;
};

TEST_F(LevelZero, ACardHasAllItsChannels) {
  lay({"0000:29:00.0", "0000:3a:00.0"});
  probe(
      "card 0 address 0000:29:00.0\ncard 0 name Intel(R) Data Center GPU Max 1550\ncard 0 watts 0 300\ncard 0 base 7\ncard 0 cap 600\n"
      "card 0 busy 75\ncard 0 memory 131072 1024\ncard 1 address 0000:3a:00.0\ncard 1 watts 0 100\n");
  ASSERT_EQ(found.devices.size(), 2u);
  EXPECT_EQ(found.devices[0].name, "0000:29:00.0 Intel(R) Data Center GPU Max 1550");
  EXPECT_THAT(channel_names(gpu(0)), ElementsAre("energy", "utilisation", "memory", "memory_total"));
  ze.set_time_ms(4000);
  EXPECT_DOUBLE_EQ(read_value(gpu(0), "energy"), 1200.000007);
  EXPECT_DOUBLE_EQ(read_value(gpu(0), "utilisation"), 0.75);
  EXPECT_DOUBLE_EQ(read_value(gpu(0), "memory"), 1024.0 * 1024 * 1024);
  EXPECT_DOUBLE_EQ(read_value(gpu(0), "memory_total"), 128.0 * 1024 * 1024 * 1024);
  EXPECT_EQ(channel_named(gpu(0), "energy")->component.path(), "node/gpu/intel-0");
  EXPECT_EQ(channel_named(gpu(1), "energy")->component.path(), "node/gpu/intel-1");
  EXPECT_DOUBLE_EQ(to_watts(channel_named(gpu(0), "energy")->max_power), 1200);
}

TEST_F(LevelZero, TilesLieWithinTheirCard) {
  lay({"0000:29:00.0"});
  probe("card 0 address 0000:29:00.0\ncard 0 watts 0 300\ncard 0 tiles 120 130\n");
  EXPECT_THAT(component_paths(gpu(0)), ::testing::IsSupersetOf({"node/gpu/intel-0", "node/gpu/intel-0/tile-0", "node/gpu/intel-0/tile-1"}));
  ze.set_time_ms(1000);
  EXPECT_DOUBLE_EQ(read_value(gpu(0), "energy tile-1"), 130);
}

TEST_F(LevelZero, WhereTheCardIsNotToldItsTilesAddUp) {
  lay({"0000:29:00.0"});
  probe("card 0 address 0000:29:00.0\ncard 0 watts 0 300\ncard 0 tiles 120 130\ncard 0 return card_domain 1\n");
  std::vector<std::string> burning;
  for (const Channel& channel : gpu(0).channels())
    if (channel.measurand == Measurand::energy) burning.push_back(channel.component.path());
  EXPECT_THAT(burning, UnorderedElementsAre("node/gpu/intel-0/tile-0", "node/gpu/intel-0/tile-1"));
}

TEST_F(LevelZero, TheKernelsChipOfACardIsTheSameComponent) {
  lay({"0000:29:00.0", "0000:3a:00.0"});
  const std::string chip = "/sys/class/hwmon/hwmon4/";
  tree.file(chip + "name", "i915\n")
      .file(chip + "energy1_input", "140000000\n")
      .file(chip + "device/uevent", "PCI_SLOT_NAME=0000:3a:00.0\n");
  const std::string newer = "/sys/class/hwmon/hwmon5/";
  tree.file(newer + "name", "xe\n").file(newer + "energy1_input", "1\n").file(newer + "energy1_label", "card\n");
  tree.file(newer + "energy2_input", "1\n")
      .file(newer + "energy2_label", "pkg\n")
      .file(newer + "device/uevent", "PCI_SLOT_NAME=0000:29:00.0\n");
  const Discovery hwmon = probe_hwmon(tree.machine());
  ASSERT_EQ(hwmon.devices.size(), 2u);
  EXPECT_THAT(component_paths(*hwmon.devices[0].meter), ElementsAre("node/gpu/intel-1"));
  EXPECT_THAT(component_paths(*hwmon.devices[1].meter), ElementsAre("node/gpu/intel-0", "node/gpu/intel-0/pkg"));
  EXPECT_DOUBLE_EQ(read_value(*hwmon.devices[0].meter, "energy1"), 140);
}

TEST_F(LevelZero, TheEnvironmentOfTheCommandStaysAsItWas) {
  lay({"0000:29:00.0"});
  probe("card 0 address 0000:29:00.0\ncard 0 watts 0 300\n");
  EXPECT_EQ(std::getenv("ZES_ENABLE_SYSMAN"), nullptr);
}

TEST_F(LevelZero, ALostCardHasItsReason) {
  lay({"0000:29:00.0"});
  probe("card 0 address 0000:29:00.0\ncard 0 watts 0 300\ncard 0 lost 9000\n");
  ze.set_time_ms(10'000);
  EXPECT_EQ(read_channel(gpu(0), "energy").reason, MissingReason::device_lost);
}

TEST_F(LevelZero, EachObstacleHasItsReason) {
  EXPECT_THAT(probe_level_zero(tree.machine()).findings.at(0).reason, HasSubstr("no Intel GPU"));
  lay({"0000:29:00.0"});
  probe("");
  EXPECT_THAT(found.findings.at(0).reason, HasSubstr("no driver"));
  probe("return zeInit 0x70010000\n");
  EXPECT_THAT(found.findings.at(0).remedy, HasSubstr("render"));
  probe("card 0 address 0000:29:00.0\ncard 0 return zesPowerGetEnergyCounter 0x78000003\n");
  EXPECT_THAT(found.findings.at(0).reason, HasSubstr("tells no energy"));
  probe("card 0 address 0000:77:00.0\ncard 0 watts 0 300\n");
  EXPECT_THAT(found.findings.at(0).reason, HasSubstr("no card at this address"));
}

}  // namespace
}  // namespace joulery
