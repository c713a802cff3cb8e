#include "sense/hwmon/hwmon.h"

#include <gmock/gmock.h>

#include <map>

#include "sense/hwmon/hwmon_places.h"
#include "sense/hwmon/jetson_iio.h"
#include "tests/unit/sense/tree.h"

namespace joulery {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using namespace joulery::testing;

constexpr const char* chips = "/sys/class/hwmon/";

// "label": joules or watts of a chip's channels in one round; missing ones are left out.
std::map<std::string, double> values(Meter& meter) {
  std::map<std::string, double> all;
  const auto round = read_once(meter);
  for (std::size_t i = 0; i < round.size(); ++i)
    if (round[i].ok()) all[meter.channels()[i].name] = static_cast<double>(round[i].raw) * meter.channels()[i].unit;
  return all;
}

TEST(Hwmon, PowerIsMicrowattsAndAnAverageIsPreferred) {
  Tree tree;
  const std::string chip = std::string(chips) + "hwmon3/";
  tree.file(chip + "name", "power_meter\n").file(chip + "power1_average", "344000000\n").file(chip + "power1_input", "350000000\n");
  tree.file(chip + "power1_average_interval", "4000\n");
  const Discovery found = probe_hwmon(tree.machine());
  ASSERT_EQ(found.devices.size(), 1u);
  const Channel& channel = found.devices[0].meter->channels()[0];
  EXPECT_THAT(values(*found.devices[0].meter), UnorderedElementsAre(std::pair("power1", 344.0)));
  EXPECT_EQ(channel.component.path(), "node");
  EXPECT_EQ(channel.measurand, Measurand::power);
  EXPECT_EQ(channel.behaviour, Behaviour::gauge);
  EXPECT_EQ(channel.averaging_window, milliseconds(4000));
  EXPECT_TRUE(found.devices[0].slow);
}

TEST(Hwmon, AmdEnergyCountsSocketsAndCoresWhereTheyBurn) {
  Tree tree;
  const std::string chip = std::string(chips) + "hwmon1/";
  tree.file(chip + "name", "amd_energy\n");
  const char* labels[] = {"Ecore000", "Ecore001", "Esocket0", "Esocket1"};
  for (int i = 0; i < 4; ++i)
    tree.file(chip + "energy" + std::to_string(i + 1) + "_label", std::string(labels[i]) + "\n")
        .file(chip + "energy" + std::to_string(i + 1) + "_input", std::to_string((i + 1) * 1'000'000) + "\n");
  tree.file("/sys/devices/system/cpu/cpu0/topology/physical_package_id", "0\n")
      .file("/sys/devices/system/cpu/cpu1/topology/physical_package_id", "1\n");
  const Discovery found = probe_hwmon(tree.machine());
  ASSERT_EQ(found.devices.size(), 1u);
  EXPECT_THAT(
      component_paths(*found.devices[0].meter),
      UnorderedElementsAre("node/cpu/package-0/core/cpu-0", "node/cpu/package-1/core/cpu-1", "node/cpu/package-0", "node/cpu/package-1"));
  EXPECT_THAT(values(*found.devices[0].meter), Contains(std::pair("Esocket1", 4.0)));
  EXPECT_EQ(found.devices[0].meter->channels()[0].measurand, Measurand::energy);
  EXPECT_EQ(found.devices[0].meter->channels()[0].behaviour, Behaviour::counter);
}

TEST(Hwmon, ASecondSensorInTheSamePlaceIsShownApart) {
  Tree tree;
  const std::string chip = std::string(chips) + "hwmon1/";
  tree.file(chip + "name", "amdgpu\n").file(chip + "power1_label", "slowPPT\n").file(chip + "power1_average", "9000000\n");
  tree.file(chip + "power2_label", "fastPPT\n").file(chip + "power2_average", "10000000\n");
  const Discovery found = probe_hwmon(tree.machine());
  ASSERT_EQ(found.devices.size(), 1u);
  const auto channels = found.devices[0].meter->channels();
  EXPECT_EQ(channels[0].component.path(), "node/gpu/amdgpu-0");
  EXPECT_EQ(channels[0].scope, Scope::component);
  EXPECT_NE(channels[1].component, channels[0].component);
  EXPECT_EQ(channels[1].scope, Scope::platform);
}

TEST(Hwmon, UnknownChipsAreNeverAdded) {
  const HwmonPlace place = hwmon_place("some_psu", 1, "power total", -1);
  EXPECT_EQ(place.component.path(), "node/board/some_psu-1-power-total");
  EXPECT_EQ(place.scope, Scope::platform);
}

TEST(Hwmon, ModulesHaveATotalAndRailsWithinIt) {
  EXPECT_EQ(hwmon_place("ina3221", 0, "VDD_IN", -1).component.path(), "node/board");
  EXPECT_TRUE(hwmon_place("ina3221", 0, "VDD_SOC", -1).component.inside(Component("node/board")));
}

TEST(Hwmon, TwoWholeNodesCannotBe) {
  EXPECT_EQ(hwmon_place("power_meter", 0, "power1", -1).scope, Scope::component);
  EXPECT_EQ(hwmon_place("power_meter", 1, "power1", -1).scope, Scope::platform);
  EXPECT_EQ(hwmon_place("power_meter", 0, "Module Power Socket 0", -1).scope, Scope::platform);
}

// One ACPI power meter for each part of each socket, named by its oem_info.
TEST(Hwmon, TheMetersOfGraceCountTheSocketOnce) {
  Tree tree;
  const std::pair<const char*, const char*> meters[] = {{"Module Power Socket 0", "600000000"},
                                                        {"Grace Power Socket 0", "250000000"},
                                                        {"CPU Power Socket 0", "180000000"},
                                                        {"SysIO Power Socket 0", "40000000"},
                                                        {"Grace Power Socket 1", "100000000"}};
  int number = 0;
  for (const auto& [name, microwatts] : meters) {
    const std::string chip = std::string(chips) + "hwmon" + std::to_string(number++) + "/";
    tree.file(chip + "name", "power_meter\n")
        .file(chip + "power1_average", microwatts)
        .file(chip + "power1_oem_info", std::string(name) + "\n");
    tree.file(chip + "power1_average_interval", "50\n");
  }
  const Discovery found = probe_hwmon(tree.machine());
  ASSERT_EQ(found.devices.size(), 5u);
  std::map<std::string, double> counted;
  for (const Device& device : found.devices) {
    const Channel& channel = device.meter->channels()[0];
    EXPECT_EQ(channel.averaging_window, milliseconds(50));
    if (channel.scope == Scope::component) counted[channel.component.path()] = values(*device.meter).begin()->second;
  }
  EXPECT_THAT(counted, UnorderedElementsAre(std::pair("node/cpu/package-0", 250.0), std::pair("node/cpu/package-0/core", 180.0),
                                            std::pair("node/cpu/package-0/sysio", 40.0), std::pair("node/cpu/package-1", 100.0)));
}

// JetPack 5: the mainline driver's files, with what is beyond the three rails.
TEST(Hwmon, AJetsonsModuleCountsItsTotalOnceAndNoShunts) {
  Tree tree;
  const std::string chip = std::string(chips) + "hwmon2/";
  tree.file(chip + "name", "ina3221\n");
  const std::pair<const char*, const char*> rails[] = {{"VDD_IN", "3000"}, {"VDD_CPU_GPU_CV", "1000"}, {"NC", "7"}};
  for (int i = 0; i < 3; ++i) {
    const std::string k = std::to_string(i + 1);
    tree.file(chip + "in" + k + "_input", "5000\n").file(chip + "in" + k + "_label", std::string(rails[i].first) + "\n");
    tree.file(chip + "curr" + k + "_input", std::string(rails[i].second) + "\n")
        .file(chip + "in" + std::to_string(i + 4) + "_input", "9\n");
    tree.file(chip + "curr" + k + "_label", std::string(rails[i].first) + "\n");
  }
  tree.file(chip + "in7_input", "27\n").file(chip + "in7_label", "sum of shunt voltages\n").file(chip + "curr4_input", "4007\n");
  const Discovery found = probe_hwmon(tree.machine());
  ASSERT_EQ(found.devices.size(), 1u);
  EXPECT_THAT(values(*found.devices[0].meter), UnorderedElementsAre(std::pair("VDD_IN", 15.0), std::pair("VDD_CPU_GPU_CV", 5.0)));
  EXPECT_THAT(component_paths(*found.devices[0].meter), UnorderedElementsAre("node/board", "node/board/VDD_CPU_GPU_CV"));
}

// JetPack 4: milliwatts, and the monitors found by the bus that they sit on.
TEST(JetsonIio, AnOlderModuleCountsItsTotalOnce) {
  Tree tree;
  const std::string chip = "/sys/bus/i2c/devices/6-0040/", device = chip + "iio:device0/";
  tree.file(chip + "name", "ina3221x\n").file("/sys/bus/i2c/devices/0-0050/name", "24c02\n");
  const std::pair<const char*, const char*> rails[] = {{"POM_5V_IN", "4321"}, {"POM_5V_GPU", "900"}, {"NC", "1"}};
  for (int i = 0; i < 3; ++i)
    tree.file(device + "rail_name_" + std::to_string(i), std::string(rails[i].first) + "\n")
        .file(device + "in_power" + std::to_string(i) + "_input", std::string(rails[i].second) + "\n");
  const Discovery found = probe_jetson_iio(tree.machine());
  ASSERT_EQ(found.devices.size(), 1u);
  EXPECT_THAT(values(*found.devices[0].meter), UnorderedElementsAre(std::pair("POM_5V_IN", 4.321), std::pair("POM_5V_GPU", 0.9)));
  EXPECT_THAT(component_paths(*found.devices[0].meter), UnorderedElementsAre("node/board", "node/board/POM_5V_GPU"));
  EXPECT_TRUE(probe_hwmon(tree.machine()).devices.empty());
}

TEST(JetsonIio, AnotherMachineHasNone) {
  Tree tree;
  EXPECT_FALSE(probe_jetson_iio(tree.machine()).findings.at(0).found);
}

TEST(Hwmon, NothingToMeasureIsAFinding) {
  Tree empty, thermal;
  thermal.file(std::string(chips) + "hwmon0/name", "coretemp\n").file(std::string(chips) + "hwmon0/temp1_input", "40000\n");
  EXPECT_THAT(probe_hwmon(empty.machine()).findings[0].reason, HasSubstr("no hardware monitoring chip"));
  EXPECT_THAT(probe_hwmon(thermal.machine()).findings[0].reason, HasSubstr("reports power or energy"));
  EXPECT_FALSE(probe_hwmon(thermal.machine()).findings[0].found);
}

TEST(Hwmon, AChipThatCannotBeReadHasItsReason) {
  Tree tree;
  tree.file(std::string(chips) + "hwmon0/name", "power_meter\n").file(std::string(chips) + "hwmon0/power1_average", "off\n");
  const Discovery found = probe_hwmon(tree.machine());
  EXPECT_TRUE(found.devices.empty());
  ASSERT_EQ(found.findings.size(), 1u);
  EXPECT_TRUE(found.findings[0].found);
  EXPECT_THAT(found.findings[0].reason, HasSubstr("power1: not a number"));
}

// Trees with the layouts of real drivers.
class HwmonTree : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string root = JOULERY_SOURCE_DIR "/../shared/data/sensors/kepler_testdata/testdata";
    if (!std::filesystem::exists(root)) GTEST_SKIP() << "skipped: no ../shared";
    found = probe_hwmon(Machine(root));
    for (const Device& device : found.devices) all[device.name] = values(*device.meter);
  }
  Discovery found;
  std::map<std::string, std::map<std::string, double>> all;
};

TEST_F(HwmonTree, PowerAndEnergyRails) {
  EXPECT_THAT(all["amdgpu"], UnorderedElementsAre(std::pair("GPU", 118.0)));
  EXPECT_THAT(all["platform_sensor"], UnorderedElementsAre(std::pair("power1", 30.0)));
  EXPECT_THAT(all["multi_energy"],
              UnorderedElementsAre(std::pair("Sensor_A", 500.0), std::pair("Sensor_B", 200.0), std::pair("Sensor_C", 100.0)));
  EXPECT_THAT(all["power_chip"], UnorderedElementsAre(std::pair("energy1", 300.0)));
}

TEST_F(HwmonTree, SensorsThatAreSwitchedOffAreToldAndNotRead) {
  EXPECT_THAT(all["test_power_chip"], UnorderedElementsAre(std::pair("PSU_Rail_A", 45.0), std::pair("PSU_Rail_B", 15.0)));
  EXPECT_THAT(all["energy_with_enable"], UnorderedElementsAre(std::pair("Rail_A", 500.0), std::pair("Rail_B", 200.0)));
  ASSERT_NE(finding_for(found, "test_power_chip/PSU_Rail_C"), nullptr);
  EXPECT_THAT(finding_for(found, "test_power_chip/PSU_Rail_C")->reason, HasSubstr("switched off"));
}

TEST_F(HwmonTree, ARailOfVoltageAndCurrentIsTheirProduct) {
  EXPECT_THAT(all["ina226"], UnorderedElementsAre(std::pair("power1", 60.0)));                          // in1 is the bus, in0 the shunt
  EXPECT_THAT(all["max20730"], UnorderedElementsAre(std::pair("power1", 120.0)));                       // in2 is the output
  EXPECT_THAT(all["unknown_chip"], UnorderedElementsAre(std::pair("power1", 60.0), std::pair("power2", 10.0)));
}

TEST_F(HwmonTree, ALabelNamesTheSameRailOnBothSides) {
  std::map<std::string, double> rails;
  for (const auto& [name, chip] : all)
    if (name.starts_with("ina3221"))
      for (const auto& [label, watts] : chip) rails[name + "/" + label] = watts;
  // In the order of the chips' folders: disabled_channel, ina3221, voltage_current, ..._average, ..._multi, ..._partial_average.
  EXPECT_DOUBLE_EQ(rails["ina3221/channel_1"], 12.0);
  EXPECT_DOUBLE_EQ(rails["ina3221/channel_2"], 10.0);
  EXPECT_FALSE(rails.contains("ina3221/channel_3"));
  EXPECT_DOUBLE_EQ(rails["ina3221-1/power1"], 12.0);
  EXPECT_DOUBLE_EQ(rails["ina3221-1/power2"], 2.5);
  EXPECT_DOUBLE_EQ(rails["ina3221-1/power3"], 0.66);
  EXPECT_DOUBLE_EQ(rails["ina3221-2/VDD_CPU"], 60.0);
  EXPECT_DOUBLE_EQ(rails["ina3221-3/VDD_CPU"], 57.82);  // the averages of both
  EXPECT_DOUBLE_EQ(rails["ina3221-4/VDD_CPU"], 60.0);
  EXPECT_DOUBLE_EQ(rails["ina3221-4/VDD_GPU"], 33.0);
  EXPECT_FALSE(rails.contains("ina3221-4/VDD_SOC"));    // no current is told
  EXPECT_DOUBLE_EQ(rails["ina3221-5/VDD_CPU"], 60.0);   // only one side averages: instants
}

}  // namespace
}  // namespace joulery
