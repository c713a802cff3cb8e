#include "sense/meters.h"

#include <gmock/gmock.h>

#include <set>

#include "sense/obstacles.h"
#include "tests/unit/sense/tree.h"

namespace joulery {
namespace {

using ::testing::ElementsAre;
using namespace joulery::testing;

TEST(Meters, EveryKindIsThereOnceInOrderOfPreference) {
  std::vector<std::string_view> names;
  for (const MeterKind& kind : meter_kinds()) names.push_back(kind.name);
  EXPECT_THAT(names, ElementsAre("rapl.powercap", "rapl.perf", "hwmon", "nvml", "cpu", "memory"));
}

// What holds for a machine without anything, for this one, and for one with everything that a tree can show.
void expect_told_in_full(const Machine& machine) {
  const Discovery found = discover(machine);
  std::set<std::string> kinds;
  for (const Finding& finding : found.findings) {
    kinds.insert(finding.kind);
    EXPECT_TRUE(finding.readable || !finding.reason.empty()) << finding.kind << " " << finding.device;
    EXPECT_TRUE(finding.found || !finding.readable) << finding.kind << " " << finding.device;
  }
  EXPECT_EQ(kinds.size(), meter_kinds().size());
  for (const Device& device : found.devices) {
    std::set<std::string> names;
    for (const Channel& channel : device.meter->channels()) EXPECT_TRUE(names.insert(channel.name).second) << device.kind << " " << channel.name;
    EXPECT_FALSE(names.empty()) << device.kind;
  }
}

TEST(Meters, EveryKindIsToldAlsoWhereItIsAbsent) {
  Tree empty, full;
  full.zone("intel-rapl:0", "package-0", 1).file("/proc/stat", "cpu 1 2 3 4\n").file("/proc/meminfo", "MemTotal: 2 kB\nMemAvailable: 1 kB\n");
  full.file("/sys/class/hwmon/hwmon0/name", "power_meter\n").file("/sys/class/hwmon/hwmon0/power1_average", "1\n");
  expect_told_in_full(empty.machine());
  expect_told_in_full(full.machine());
  expect_told_in_full(Machine());
}

TEST(Meters, EveryObstacleHasAReason) {
  for (int i = 0; i <= static_cast<int>(Obstacle::proc_unreadable); ++i) EXPECT_FALSE(advice(static_cast<Obstacle>(i)).reason.empty()) << i;
}

}  // namespace
}  // namespace joulery
