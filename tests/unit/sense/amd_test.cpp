#include <gmock/gmock.h>

#include "sense/amd/amd_cards.h"
#include "sense/amd/amdsmi.h"
#include "sense/amd/amdsmi_api.h"
#include "sense/amd/rocm_smi.h"
#include "sense/hwmon/hwmon.h"
#include "tests/unit/sense/fake_cards.h"

namespace joulery {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace joulery::testing;

constexpr const char* mi300x = "0x74a1";
constexpr const char* mi250 = "0x740c";

class Amd : public ::testing::Test {
 protected:
  ~Amd() override {
    ::unsetenv("FAKE_AMDSMI_VERSION");
    found = {};
  }
  void lay(std::initializer_list<const char*> addresses, const char* device) {
    for (const char* address : addresses) lay_pci_card(tree, address, "0x1002", device);
  }
  void probe(const std::string& script) {
    smi.play(tree, script);
    found = probe_amdsmi(tree.machine());
  }
  Meter& meter() { return *found.devices.at(0).meter; }

  Tree tree;
  FakeLibrary smi{"libamd_smi.so", "FAKE_AMDSMI_SCRIPT"}, rocm{"librocm_smi64.so", "FAKE_ROCM_SMI_SCRIPT"};
  Discovery found;
};

TEST_F(Amd, ACardHasAllItsChannels) {
  lay({"0000:05:00.0", "0000:26:00.0"}, mi300x);
  probe(
      "card 0 address 0000:05:00.0\ncard 0 name AMD Instinct MI300X\ncard 0 watts 0 700\ncard 0 unit 15.259\ncard 0 base 1000\n"
      "card 0 busy 87\ncard 0 memory 196608 512\ncard 0 cap 750\ncard 1 address 0000:26:00.0\ncard 1 watts 0 140\n");
  ASSERT_EQ(found.devices.size(), 1u);
  EXPECT_TRUE(found.devices[0].slow);
  EXPECT_THAT(channel_names(meter()),
              ElementsAre("amd-0 utilisation", "amd-0 memory", "amd-0 memory_total", "amd-0 energy", "amd-0 power", "amd-1 utilisation",
                          "amd-1 memory", "amd-1 memory_total", "amd-1 energy", "amd-1 power"));
  smi.set_time_ms(10'000);
  EXPECT_NEAR(read_value(meter(), "amd-0 energy"), 1000 * 15.259e-6 + 7000, 15.3e-6);
  EXPECT_DOUBLE_EQ(read_value(meter(), "amd-0 power"), 700);
  EXPECT_DOUBLE_EQ(read_value(meter(), "amd-1 power"), 140);
  EXPECT_DOUBLE_EQ(read_value(meter(), "amd-0 utilisation"), 0.87);
  EXPECT_DOUBLE_EQ(read_value(meter(), "amd-0 memory"), 512.0 * 1024 * 1024);
  EXPECT_DOUBLE_EQ(read_value(meter(), "amd-0 memory_total"), 192.0 * 1024 * 1024 * 1024);
  EXPECT_EQ(channel_named(meter(), "amd-0 energy")->component.path(), "node/gpu/amd-0");
  EXPECT_GE(to_watts(channel_named(meter(), "amd-0 energy")->max_power), 750);
  ASSERT_NE(finding_for(found, "0000:05:00.0 AMD Instinct MI300X"), nullptr);
  EXPECT_TRUE(finding_for(found, "0000:05:00.0 AMD Instinct MI300X")->readable);
}

TEST_F(Amd, Case17EnergyIsTheCountTimesTheResolution) {
  EXPECT_DOUBLE_EQ(amd_resolution(15.3f), 15.3e-6);
  lay({"0000:05:00.0"}, mi300x);
  probe("card 0 address 0000:05:00.0\ncard 0 unit 15.3\ncard 0 base 65628\ncard 0 watts 0 0\n");
  EXPECT_NEAR(read_value(meter(), "amd-0 energy"), 1.004108, 5e-7);
}

TEST_F(Amd, Case18TheOddDieOfAnMi250IsCoveredByItsSibling) {
  lay({"0000:29:00.0", "0000:2f:00.0", "0000:8e:00.0", "0000:93:00.0"}, mi250);
  probe(
      "card 0 address 0000:29:00.0\ncard 0 watts 0 89\ncard 1 address 0000:2f:00.0\ncard 1 busy 50\n"
      "card 2 address 0000:8e:00.0\ncard 2 watts 0 93\ncard 3 address 0000:93:00.0\n");
  double watts = 0;
  for (const Channel& channel : meter().channels())
    if (channel.measurand == Measurand::power) watts += read_value(meter(), channel.name);
  EXPECT_DOUBLE_EQ(watts, 182);
  for (const char* odd : {"0000:2f:00.0", "0000:93:00.0"}) {
    ASSERT_NE(finding_for(found, odd), nullptr);
    EXPECT_TRUE(finding_for(found, odd)->readable);
    EXPECT_THAT(finding_for(found, odd)->reason, HasSubstr("covered by sibling"));
  }
  EXPECT_DOUBLE_EQ(read_value(meter(), "amd-1 utilisation"), 0.5);  // its load is its own
  EXPECT_EQ(channel_named(meter(), "amd-1 energy"), nullptr);
}

TEST_F(Amd, Case18AnUnsupportedOddDieIsCoveredToo) {
  lay({"0000:29:00.0", "0000:2f:00.0"}, mi250);
  probe(
      "card 0 address 0000:29:00.0\ncard 0 watts 0 89\ncard 1 address 0000:2f:00.0\n"
      "card 1 return amdsmi_get_power_info 2\ncard 1 return amdsmi_get_energy_count 2\n");
  EXPECT_THAT(finding_for(found, "0000:2f:00.0")->reason, HasSubstr("covered by sibling"));
}

TEST_F(Amd, ASilentCardThatIsNoSecondDieIsBlocked) {
  lay({"0000:29:00.0", "0000:2f:00.0"}, mi300x);
  probe("card 0 address 0000:29:00.0\ncard 0 watts 0 89\ncard 1 address 0000:2f:00.0\n");
  EXPECT_FALSE(finding_for(found, "0000:2f:00.0")->readable);
  EXPECT_THAT(finding_for(found, "0000:2f:00.0")->reason, HasSubstr("neither energy nor power"));
}

struct Fault {
  const char* script;
  const char* reason;
};
class AmdFault : public Amd, public ::testing::WithParamInterface<Fault> {};

TEST_P(AmdFault, IsToldAndThePowerIsIntegratedInstead) {
  lay({"0000:05:00.0"}, mi300x);
  probe(std::string("card 0 address 0000:05:00.0\ncard 0 watts 0 250\ncard 0 base 1000000000\n") + GetParam().script);
  ASSERT_EQ(found.findings.size(), 1u);
  EXPECT_TRUE(found.findings[0].readable);
  EXPECT_THAT(found.findings[0].reason, HasSubstr(GetParam().reason));
  EXPECT_THAT(found.findings[0].reason, HasSubstr("integrated instead"));
  EXPECT_EQ(channel_named(meter(), "amd-0 energy"), nullptr);
  EXPECT_DOUBLE_EQ(read_value(meter(), "amd-0 power"), 250);
}

INSTANTIATE_TEST_SUITE_P(Counters, AmdFault,
                         ::testing::Values(Fault{"card 0 frozen 0\n", "stands still at 250 W"},
                                           Fault{"card 0 backward 50\n", "ran backward"}, Fault{"card 0 rate 16\n", "times its power"},
                                           Fault{"card 0 rate 0.1\n", "times its power"}));

TEST_F(Amd, WithoutAnEnergyCounterThePowerServes) {
  lay({"0000:05:00.0"}, mi300x);
  probe("card 0 address 0000:05:00.0\ncard 0 watts 0 250\ncard 0 return amdsmi_get_energy_count 2\n");
  EXPECT_THAT(channel_names(meter()), Contains("amd-0 power"));
  EXPECT_THAT(channel_names(meter()), Not(Contains("amd-0 energy")));
}

TEST_F(Amd, AResolutionThatChangesIsRubbish) {
  lay({"0000:05:00.0"}, mi300x);
  probe("card 0 address 0000:05:00.0\ncard 0 watts 0 250\n");
  smi.play(tree, "card 0 address 0000:05:00.0\ncard 0 watts 0 250\ncard 0 unit 15.3\n");
  read_once(meter());
  EXPECT_EQ(probe_amdsmi(tree.machine()).findings.size(), 1u);  // reads the new script
  EXPECT_EQ(read_channel(meter(), "amd-0 energy").reason, MissingReason::rubbish);
}

TEST_F(Amd, ALostCardCostsItselfAlone) {
  lay({"0000:05:00.0", "0000:26:00.0"}, mi300x);
  probe("card 0 address 0000:05:00.0\ncard 0 watts 0 250\ncard 0 lost 5000\ncard 1 address 0000:26:00.0\ncard 1 watts 0 100\n");
  smi.set_time_ms(6000);
  EXPECT_FALSE(read_channel(meter(), "amd-0 energy").ok());
  EXPECT_TRUE(read_channel(meter(), "amd-1 energy").ok());
}

TEST_F(Amd, PowerIsFoundInEachLayoutOfTheLibrary) {
  lay({"0000:05:00.0"}, mi300x);
  for (const char* version : {"23", "24", "25", "26"}) {
    ::setenv("FAKE_AMDSMI_VERSION", version, 1);
    probe("card 0 address 0000:05:00.0\ncard 0 watts 0 250\n");
    EXPECT_DOUBLE_EQ(read_value(meter(), "amd-0 power"), 250) << version;
  }
  AmdsmiPowerInfo none{};
  none.words[0] = none.words[1] = 0xFFFFFFFF;
  EXPECT_FALSE(amdsmi_power(none, 24));
}

TEST_F(Amd, APartitionOfACardIsNoCard) {
  lay({"0000:05:00.0"}, mi300x);
  probe("card 0 address 0000:05:00.0\ncard 0 watts 0 250\ncard 1 address 0000:05:00.1\ncard 1 watts 0 250\n");
  EXPECT_THAT(finding_for(found, "0000:05:00.1")->reason, HasSubstr("partition"));
  EXPECT_EQ(channel_named(meter(), "amd-1 power"), nullptr);
}

TEST_F(Amd, TheHwmonChipOfACardIsTheSameComponent) {
  lay({"0000:05:00.0", "0000:26:00.0"}, mi300x);
  const std::string chip = "/sys/class/hwmon/hwmon7/";
  tree.file(chip + "name", "amdgpu\n").file(chip + "power1_average", "140000000\n");
  tree.file(chip + "device/uevent", "DRIVER=amdgpu\nPCI_CLASS=38000\nPCI_SLOT_NAME=0000:26:00.0\n");
  probe("card 0 address 0000:05:00.0\ncard 0 watts 0 250\ncard 1 address 0000:26:00.0\ncard 1 watts 0 140\n");
  const Discovery hwmon = probe_hwmon(tree.machine());
  ASSERT_EQ(hwmon.devices.size(), 1u);
  EXPECT_EQ(hwmon.devices[0].meter->channels()[0].component, channel_named(meter(), "amd-1 power")->component);
}

TEST_F(Amd, TheOlderLibrarySaysTheSame) {
  lay({"0000:29:00.0", "0000:2f:00.0", "0000:8e:00.0", "0000:93:00.0"}, mi250);
  rocm.play(
      tree,
      "card 0 address 0000:29:00.0\ncard 0 name AMD INSTINCT MI250 (MCM) OAM AC MBA\ncard 0 watts 0 89\ncard 0 unit 15.3\ncard 0 busy 40\n"
      "card 0 memory 65536 128\ncard 0 cap 500\ncard 1 address 0000:2f:00.0\ncard 2 address 0000:8e:00.0\ncard 2 watts 0 93\n"
      "card 3 address 0000:93:00.0\n");
  found = probe_rocm_smi(tree.machine());
  EXPECT_THAT(channel_names(meter()), Contains("amd-2 energy"));
  EXPECT_DOUBLE_EQ(read_value(meter(), "amd-0 power") + read_value(meter(), "amd-2 power"), 182);
  EXPECT_DOUBLE_EQ(read_value(meter(), "amd-0 utilisation"), 0.4);
  EXPECT_DOUBLE_EQ(read_value(meter(), "amd-0 memory"), 128.0 * 1024 * 1024);
  EXPECT_THAT(finding_for(found, "0000:2f:00.0")->reason, HasSubstr("covered by sibling"));
  rocm.set_time_ms(1000);
  EXPECT_NEAR(read_value(meter(), "amd-0 energy"), 89, 16e-6);
}

TEST_F(Amd, TheOlderLibraryIsNotUsedBesideTheNewer) {
  lay({"0000:05:00.0"}, mi300x);
  probe("card 0 address 0000:05:00.0\ncard 0 watts 0 250\n");
  const Discovery older = probe_rocm_smi(tree.machine());
  EXPECT_TRUE(older.devices.empty());
  EXPECT_THAT(older.findings.at(0).reason, HasSubstr("amdsmi measures the same"));
}

TEST_F(Amd, EachObstacleHasItsReason) {
  EXPECT_THAT(probe_amdsmi(tree.machine()).findings.at(0).reason, HasSubstr("no AMD GPU"));
  EXPECT_THAT(probe_rocm_smi(tree.machine()).findings.at(0).reason, HasSubstr("no AMD GPU"));
  lay({"0000:05:00.0"}, mi300x);
  const std::pair<const char*, const char*> cases[] = {{"return amdsmi_init 34\n", "modprobe amdgpu"},
                                                       {"return amdsmi_init 10\n", "render"},
                                                       {"return amdsmi_init 43\n", "amd-smi list"},
                                                       {"", "amd-smi list"}};
  for (const auto& [script, remedy] : cases) {
    probe(script);
    ASSERT_EQ(found.findings.size(), 1u);
    EXPECT_TRUE(found.findings[0].found);
    EXPECT_THAT(found.findings[0].remedy, HasSubstr(remedy)) << script;
  }
}

}  // namespace
}  // namespace joulery
