// Batteries as sysfs shows them: on their own power, on mains, two of them, and in each of the units that drivers use.
#include "sense/node/battery.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

namespace joulery {
namespace {

namespace fs = std::filesystem;

class BatteryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/joulery-battery-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    root = name;
  }
  void TearDown() override { fs::remove_all(root); }

  void put(const std::string& battery, const std::map<std::string, std::string>& files) {
    const fs::path folder = root / "sys/class/power_supply" / battery;
    fs::create_directories(folder);
    for (const auto& [file, text] : files) std::ofstream(folder / file) << text << "\n";
  }
  Discovery probe() { return probe_battery(Machine(root.string())); }
  // The one reading in watts or joules.
  double read(Device& device) {
    last = read_once(*device.meter)[0];
    return static_cast<double>(last.raw) * device.meter->channels()[0].unit;
  }
  fs::path root;
  Reading last;
};

TEST_F(BatteryTest, NoBattery) {
  const Discovery found = probe();
  ASSERT_EQ(found.findings.size(), 1U);
  EXPECT_FALSE(found.findings[0].found);
  put("AC", {{"type", "Mains"}, {"online", "1"}});
  put("hidpp_battery_0", {{"type", "Battery"}, {"scope", "Device"}, {"status", "Discharging"}, {"power_now", "1"}});
  EXPECT_FALSE(probe().findings[0].found) << "a charger and a mouse are none";
}

TEST_F(BatteryTest, PowerWhileDischarging) {
  put("BAT0",
      {{"type", "Battery"}, {"status", "Discharging"}, {"power_now", "12345000"}, {"energy_now", "40000000"}, {"energy_full", "50000000"}});
  Discovery found = probe();
  ASSERT_EQ(found.devices.size(), 1U);
  EXPECT_TRUE(found.findings[0].readable);
  EXPECT_EQ(found.devices[0].meter->channels()[0].component.path(), "node");
  EXPECT_DOUBLE_EQ(read(found.devices[0]), 12.345);
}

TEST_F(BatteryTest, CurrentTimesVoltageWhateverTheSign) {
  put("BAT1", {{"type", "Battery"}, {"status", "Discharging"}, {"current_now", "-1500000"}, {"voltage_now", "12000000"}});
  Discovery found = probe();
  ASSERT_EQ(found.devices.size(), 1U);
  EXPECT_DOUBLE_EQ(read(found.devices[0]), 18.0);
}

TEST_F(BatteryTest, EnergyCountsUpAsItIsUsed) {
  put("BAT0", {{"type", "Battery"}, {"status", "Discharging"}, {"energy_now", "40000000"}, {"energy_full", "50000000"}});
  Discovery found = probe();
  ASSERT_EQ(found.devices.size(), 1U);
  EXPECT_EQ(found.devices[0].meter->channels()[0].measurand, Measurand::energy);
  const double before = read(found.devices[0]);
  put("BAT0", {{"energy_now", "39000000"}});
  EXPECT_DOUBLE_EQ(read(found.devices[0]) - before, 3600.0) << "1 Wh";
}

TEST_F(BatteryTest, ChargeTimesItsDesignVoltage) {
  put("BAT0", {{"type", "Battery"},
               {"status", "Discharging"},
               {"charge_now", "4000000"},
               {"charge_full", "5000000"},
               {"voltage_min_design", "10000000"}});
  Discovery found = probe();
  ASSERT_EQ(found.devices.size(), 1U);
  const double before = read(found.devices[0]);
  put("BAT0", {{"charge_now", "3900000"}});
  EXPECT_DOUBLE_EQ(read(found.devices[0]) - before, 3600.0) << "0.1 Ah at 10 V";
}

TEST_F(BatteryTest, OnMainsItSaysNothing) {
  for (const char* status : {"Charging", "Full", "Not charging", "Unknown"}) {
    put("BAT0", {{"type", "Battery"}, {"status", status}, {"power_now", "20000000"}});
    const Discovery found = probe();
    EXPECT_TRUE(found.devices.empty()) << status;
    EXPECT_TRUE(found.findings[0].found);
    EXPECT_NE(found.findings[0].reason.find("on mains"), std::string::npos);
  }
}

TEST_F(BatteryTest, TheChargerIsPluggedInMeanwhile) {
  put("BAT0", {{"type", "Battery"}, {"status", "Discharging"}, {"power_now", "10000000"}});
  Discovery found = probe();
  ASSERT_EQ(found.devices.size(), 1U);
  put("BAT0", {{"status", "Charging"}});
  read(found.devices[0]);
  EXPECT_EQ(last.reason, MissingReason::not_supported);
  put("BAT0", {{"status", "Discharging"}, {"power_now", "what?"}});
  read(found.devices[0]);
  EXPECT_EQ(last.reason, MissingReason::rubbish);
}

TEST_F(BatteryTest, TwoBatteriesFeedByTurnsOrTogether) {
  put("BAT0", {{"type", "Battery"}, {"status", "Discharging"}, {"power_now", "6000000"}});
  put("BAT1", {{"type", "Battery"}, {"status", "Not charging"}, {"power_now", "0"}});
  Discovery found = probe();
  ASSERT_EQ(found.devices.size(), 1U);
  EXPECT_EQ(found.findings.size(), 2U);
  EXPECT_DOUBLE_EQ(read(found.devices[0]), 6.0);
  put("BAT1", {{"status", "Discharging"}, {"power_now", "5000000"}});
  EXPECT_DOUBLE_EQ(read(found.devices[0]), 11.0);
}

}  // namespace
}  // namespace joulery
