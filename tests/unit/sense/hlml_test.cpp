#include "sense/habana/hlml.h"

#include <gmock/gmock.h>

#include "tests/unit/sense/fake_cards.h"

namespace joulery {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace joulery::testing;

class Hlml : public ::testing::Test {
 protected:
  ~Hlml() override { found = {}; }
  void lay(std::initializer_list<const char*> addresses) {
    for (const char* address : addresses) lay_pci_card(tree, address, "0x1da3", "0x1020", "0x120000");
  }
  void probe(const std::string& script) {
    hlml.play(tree, script);
    found = probe_hlml(tree.machine());
  }
  Meter& card(std::size_t index) { return *found.devices.at(index).meter; }

  Tree tree;
  FakeLibrary hlml{"libhlml.so", "FAKE_HLML_SCRIPT"};
  Discovery found;
};

TEST_F(Hlml, ACardHasAllItsChannels) {
  lay({"0000:19:00.0", "0000:33:00.0"});
  probe(
      "card 0 address 0000:33:00.0\ncard 0 name HL-225\ncard 0 unit 1000\ncard 0 base 5\ncard 0 watts 0 430.5\ncard 0 cap 600\n"
      "card 0 busy 66\ncard 0 memory 98304 768\ncard 1 address 0000:19:00.0\ncard 1 unit 1000\ncard 1 watts 0 90\n");
  ASSERT_EQ(found.devices.size(), 2u);
  EXPECT_EQ(found.devices[0].name, "0000:33:00.0 HL-225");
  EXPECT_THAT(channel_names(card(0)), ElementsAre("energy", "power", "utilisation", "memory", "memory_total"));
  hlml.set_time_ms(2000);
  EXPECT_DOUBLE_EQ(read_value(card(0), "energy"), 861.005);
  EXPECT_DOUBLE_EQ(read_value(card(0), "power"), 430.5);
  EXPECT_DOUBLE_EQ(read_value(card(0), "utilisation"), 0.66);
  EXPECT_DOUBLE_EQ(read_value(card(0), "memory"), 768.0 * 1024 * 1024);
  EXPECT_EQ(channel_named(card(0), "energy")->component.path(), "node/gpu/gaudi-1");  // by address, not by the library's order
  EXPECT_EQ(channel_named(card(1), "energy")->component.path(), "node/gpu/gaudi-0");
  EXPECT_DOUBLE_EQ(to_watts(channel_named(card(0), "energy")->max_power), 1200);
}

TEST_F(Hlml, WithoutACounterThePowerServes) {
  lay({"0000:19:00.0"});
  probe("card 0 address 0000:19:00.0\ncard 0 watts 0 90\ncard 0 return hlml_device_get_total_energy_consumption 3\n");
  EXPECT_THAT(channel_names(card(0)), ElementsAre("power", "utilisation", "memory", "memory_total"));
}

TEST_F(Hlml, ALostCardCostsItselfAlone) {
  lay({"0000:19:00.0", "0000:33:00.0"});
  probe("card 0 address 0000:19:00.0\ncard 0 watts 0 90\ncard 0 lost 5000\ncard 1 address 0000:33:00.0\ncard 1 watts 0 90\n");
  hlml.set_time_ms(6000);
  EXPECT_EQ(read_channel(card(0), "energy").reason, MissingReason::device_lost);
  EXPECT_TRUE(read_channel(card(1), "energy").ok());
}

TEST_F(Hlml, EachObstacleHasItsReason) {
  EXPECT_THAT(probe_hlml(tree.machine()).findings.at(0).reason, HasSubstr("no Habana Gaudi"));
  lay({"0000:19:00.0"});
  probe("return hlml_init 9\n");
  EXPECT_THAT(found.findings.at(0).remedy, HasSubstr("modprobe habanalabs"));
  probe("return hlml_init 14\n");
  EXPECT_THAT(found.findings.at(0).reason, HasSubstr("code 14"));
  probe(
      "card 0 address 0000:19:00.0\ncard 0 return hlml_device_get_total_energy_consumption 3\ncard 0 return hlml_device_get_power_usage "
      "3\n");
  EXPECT_THAT(found.findings.at(0).reason, HasSubstr("neither energy nor power"));
}

}  // namespace
}  // namespace joulery
