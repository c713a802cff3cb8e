#include "sense/meters.h"

#include <gmock/gmock.h>

#include <set>

#include "sense/obstacles.h"
#include "tests/unit/sense/tree.h"

namespace joulery {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace joulery::testing;

TEST(Meters, EveryKindIsThereOnceInOrderOfPreference) {
  std::vector<std::string_view> names;
  for (const MeterKind& kind : meter_kinds()) names.push_back(kind.name);
  EXPECT_THAT(names, ElementsAre("rapl.powercap", "rapl.perf", "rapl.msr", "amdsmi", "rocm_smi", "level_zero", "hlml", "neuron", "tpu",
                                 "hwmon", "jetson.iio", "nvml", "ipmi", "ipmi-lan", "redfish", "battery", "snmp", "mqtt", "http-json",
                                 "prometheus", "cpu", "memory", "agent"));
}

// What holds for a machine without anything, for this one, and for one with everything that a tree can show.
void expect_told_in_full(const Machine& machine) {
  const Discovery found = discover(machine, Settings(), Look::thorough);
  std::set<std::string> kinds;
  for (const Finding& finding : found.findings) {
    kinds.insert(finding.kind);
    EXPECT_TRUE(finding.readable || !finding.reason.empty()) << finding.kind << " " << finding.device;
    EXPECT_TRUE(finding.found || !finding.readable) << finding.kind << " " << finding.device;
  }
  EXPECT_EQ(kinds.size(), meter_kinds().size());
  for (const Device& device : found.devices) {
    std::set<std::string> names;
    for (const Channel& channel : device.meter->channels())
      EXPECT_TRUE(names.insert(channel.name).second) << device.kind << " " << channel.name;
    EXPECT_FALSE(names.empty()) << device.kind;
  }
}

TEST(Meters, EveryKindIsToldAlsoWhereItIsAbsent) {
  Tree empty, full;
  full.zone("intel-rapl:0", "package-0", 1)
      .file("/proc/stat", "cpu 1 2 3 4\n")
      .file("/proc/meminfo", "MemTotal: 2 kB\nMemAvailable: 1 kB\n");
  full.file("/sys/class/hwmon/hwmon0/name", "power_meter\n").file("/sys/class/hwmon/hwmon0/power1_average", "1\n");
  expect_told_in_full(empty.machine());
  expect_told_in_full(full.machine());
  expect_told_in_full(Machine());
}

// A chip of amd_energy beside powercap, which measures the same sockets.
void lay_amd_energy(Tree& tree, const std::string& second_label) {
  const std::string chip = "/sys/class/hwmon/hwmon0/";
  tree.zone("intel-rapl:0", "package-0", 1).file(chip + "name", "amd_energy\n");
  tree.file(chip + "energy1_label", "Esocket0\n").file(chip + "energy1_input", "5\n");
  tree.file(chip + "energy2_label", second_label + "\n").file(chip + "energy2_input", "5\n");
}

std::vector<std::string> kinds_of_devices(const Discovery& found) {
  std::vector<std::string> kinds;
  for (const Device& device : found.devices) kinds.push_back(device.kind);
  return kinds;
}

TEST(Meters, ADeviceThatTellsNothingNewIsLeftOutAndTheFindingSaysWhy) {
  Tree tree;
  lay_amd_energy(tree, "Esocket1");
  tree.zone("intel-rapl:1", "package-1", 1);
  const Discovery found = discover(tree.machine(), Settings(), Look::thorough);
  EXPECT_THAT(kinds_of_devices(found), ElementsAre("rapl.powercap"));
  ASSERT_NE(finding_for(found, "amd_energy"), nullptr);
  EXPECT_TRUE(finding_for(found, "amd_energy")->readable);
  EXPECT_THAT(finding_for(found, "amd_energy")->reason, HasSubstr("rapl.powercap measures the same"));
}

TEST(Meters, ADeviceThatTellsMoreStays) {
  Tree tree;
  lay_amd_energy(tree, "Esocket1");
  EXPECT_THAT(kinds_of_devices(discover(tree.machine(), Settings(), Look::thorough)), ElementsAre("rapl.powercap", "hwmon"));
}

TEST(Meters, WhatCannotBeReadCoversNothing) {
  Tree tree;
  lay_amd_energy(tree, "Esocket1");
  tree.zone("intel-rapl:1", "package-1", 1).file("/sys/class/powercap/intel-rapl:1/energy_uj", "rubbish\n");
  EXPECT_THAT(kinds_of_devices(discover(tree.machine(), Settings(), Look::thorough)), ElementsAre("rapl.powercap", "hwmon"));
}

TEST(Meters, EveryObstacleHasAReason) {
  for (int i = 0; i <= static_cast<int>(Obstacle::proc_unreadable); ++i) EXPECT_FALSE(advice(static_cast<Obstacle>(i)).reason.empty()) << i;
}

}  // namespace
}  // namespace joulery
