#include "sense/rapl/powercap.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>

#include "tests/unit/sense/tree.h"

namespace joulery {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;
using namespace joulery::testing;

constexpr std::int64_t joule_uj = 1'000'000;

// Joules of every component that is counted, over a change of the tree.
template <class Change>
double counted_joules(Meter& meter, Change change) {
  const auto before = read_once(meter);
  change();
  const auto after = read_once(meter);
  double sum = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const Channel& channel = meter.channels()[i];
    const bool nested = std::any_of(meter.channels().begin(), meter.channels().end(),
                                    [&](const Channel& other) { return channel.component.inside(other.component); });
    if (channel.scope == Scope::component && !nested) sum += static_cast<double>(after[i].raw - before[i].raw) * channel.unit;
  }
  return sum;
}

TEST(Powercap, Case3NestedAndMirroredZonesCountOnce) {
  Tree tree;
  const auto lay = [&](std::int64_t seconds) {
    tree.zone("intel-rapl:0", "package-0", 20 * seconds * joule_uj)
        .zone("intel-rapl:0:0", "core", 12 * seconds * joule_uj)
        .zone("intel-rapl:0:1", "uncore", 3 * seconds * joule_uj)
        .zone("intel-rapl:1", "psys", 30 * seconds * joule_uj)
        .zone("intel-rapl-mmio:0", "package-0", 20 * seconds * joule_uj);
  };
  lay(1);
  Discovery found = probe_powercap(tree.machine());
  ASSERT_EQ(found.devices.size(), 1u);
  Meter& meter = *found.devices[0].meter;
  EXPECT_THAT(component_paths(meter),
              UnorderedElementsAre("node/cpu/package-0", "node/cpu/package-0/core", "node/cpu/package-0/uncore", "node/platform"));
  EXPECT_DOUBLE_EQ(counted_joules(meter, [&] { lay(2); }), 20.0);
  EXPECT_EQ(channel_named(meter, "psys")->scope, Scope::platform);
  ASSERT_NE(finding_for(found, "intel-rapl-mmio:0"), nullptr);
  EXPECT_THAT(finding_for(found, "intel-rapl-mmio:0")->reason, HasSubstr("second time through MMIO"));
}

TEST(Powercap, Case4ZonesAreKnownByNameNotByNumber) {
  Tree tree;
  const auto lay = [&](std::int64_t seconds) {
    tree.zone("intel-rapl:0", "package-1", 10 * seconds * joule_uj)
        .zone("intel-rapl:1", "package-0", 15 * seconds * joule_uj)
        .zone("intel-rapl:2", "psys", 40 * seconds * joule_uj)
        .zone("intel-rapl:0:0", "dram", 0);
  };
  lay(1);
  Discovery found = probe_powercap(tree.machine());
  ASSERT_EQ(found.devices.size(), 1u);
  Meter& meter = *found.devices[0].meter;
  EXPECT_THAT(component_paths(meter),
              UnorderedElementsAre("node/cpu/package-0", "node/cpu/package-1", "node/platform", "node/dram/package-1"));
  EXPECT_DOUBLE_EQ(counted_joules(meter, [&] { lay(2); }), 25.0);
  EXPECT_EQ(read_channel(meter, "package-1").raw, 20 * joule_uj);
}

TEST(Powercap, Case5RootOnlyCountersAreNoCrashAndNoZeroButAReasonAndARemedy) {
  Tree tree;
  tree.zone("intel-rapl:0", "package-0", 5).zone("intel-rapl:1", "package-1", 7);
  tree.mode("/sys/class/powercap/intel-rapl:0/energy_uj", 0).mode("/sys/class/powercap/intel-rapl:1/energy_uj", 0);
  EXPECT_TRUE(holds_for_ordinary_user([&] {
    const Discovery found = probe_powercap(tree.machine());
    const Finding* first = finding_for(found, "package-0");
    return found.devices.empty() && first && first->found && !first->readable && first->reason.contains("CVE-2020-8694") &&
           first->remedy.contains("chmod a+r") && first->remedy.contains("udev") && first->remedy.contains("setcap");
  }));
}

TEST(Powercap, Case5OneUnreadableSocketIsAChannelWithoutValues) {
  Tree tree;
  tree.zone("intel-rapl:0", "package-0", 5).zone("intel-rapl:1", "package-1", 7).mode("/sys/class/powercap/intel-rapl:1/energy_uj", 0);
  EXPECT_TRUE(holds_for_ordinary_user([&] {
    Discovery found = probe_powercap(tree.machine());
    if (found.devices.size() != 1) return false;
    const Reading whole = read_channel(*found.devices[0].meter, "package-0"), lacking = read_channel(*found.devices[0].meter, "package-1");
    const Finding* finding = finding_for(found, "package-1");
    return whole.ok() && whole.raw == 5 && lacking.reason == MissingReason::permission && finding && finding->found && !finding->readable &&
           !finding->reason.empty() && finding_for(found, "package-0")->readable;
  }));
}

TEST(Powercap, Case6AbsentDramIsAFindingAndNoChannel) {
  Tree tree;
  tree.zone("intel-rapl:0", "package-0", 5);
  const Discovery found = probe_powercap(tree.machine());
  ASSERT_EQ(found.devices.size(), 1u);
  EXPECT_THAT(component_paths(*found.devices[0].meter), UnorderedElementsAre("node/cpu/package-0"));
  const Finding* dram = finding_for(found, "dram");
  ASSERT_NE(dram, nullptr);
  EXPECT_FALSE(dram->found);
  EXPECT_THAT(dram->reason, HasSubstr("this CPU has no DRAM domain"));
}

TEST(Powercap, Case8TheCoreZoneOfAmdIsOneCoreAndIsLeftOut) {
  Tree tree;
  tree.file("/proc/cpuinfo", "processor\t: 0\nvendor_id\t: AuthenticAMD\n")
      .zone("intel-rapl:0", "package-0", 5)
      .zone("intel-rapl:0:0", "core", 1);
  const Discovery found = probe_powercap(tree.machine());
  ASSERT_EQ(found.devices.size(), 1u);
  EXPECT_THAT(component_paths(*found.devices[0].meter), UnorderedElementsAre("node/cpu/package-0"));
  EXPECT_THAT(finding_for(found, "intel-rapl:0:0")->reason, HasSubstr("one core alone"));
}

TEST(Powercap, NestedAndFlatViewsOfAZoneAreOne) {
  Tree tree;
  for (const std::string parent : {"", "intel-rapl/"})
    tree.zone(parent + "intel-rapl:0", "package-0", 5)
        .zone(parent + "intel-rapl:0/intel-rapl:0:0", "dram", 3)
        .zone(parent + "intel-rapl:0:0", "dram", 3);
  const Discovery found = probe_powercap(tree.machine());
  ASSERT_EQ(found.devices.size(), 1u);
  EXPECT_THAT(component_paths(*found.devices[0].meter), UnorderedElementsAre("node/cpu/package-0", "node/dram/package-0"));
}

TEST(Powercap, ATreeWithOnlyTheNestedViewIsRead) {
  Tree tree;
  tree.zone("intel-rapl/intel-rapl:0", "package-0", 5).zone("intel-rapl/intel-rapl:0/intel-rapl:0:0", "uncore", 3);
  const Discovery found = probe_powercap(tree.machine());
  ASSERT_EQ(found.devices.size(), 1u);
  EXPECT_THAT(component_paths(*found.devices[0].meter), UnorderedElementsAre("node/cpu/package-0", "node/cpu/package-0/uncore"));
}

TEST(Powercap, MmioAloneIsUsed) {
  Tree tree;
  tree.zone("intel-rapl-mmio:0", "package-0", 5);
  Discovery found = probe_powercap(tree.machine());
  ASSERT_EQ(found.devices.size(), 1u);
  EXPECT_EQ(read_channel(*found.devices[0].meter, "package-0").raw, 5);
}

TEST(Powercap, SeveralPlatformsAndDiesKeepApart) {
  Tree tree;
  tree.zone("intel-rapl:0", "package-0-die-0", 1)
      .zone("intel-rapl:1", "package-0-die-1", 2)
      .zone("intel-rapl:2", "psys", 3)
      .zone("intel-rapl:3", "psys-1", 4);
  const Discovery found = probe_powercap(tree.machine());
  ASSERT_EQ(found.devices.size(), 1u);
  EXPECT_THAT(component_paths(*found.devices[0].meter),
              UnorderedElementsAre("node/cpu/package-0-die-0", "node/cpu/package-0-die-1", "node/platform", "node/platform-1"));
}

TEST(Powercap, AnUnknownZoneIsShownApart) {
  Tree tree;
  tree.zone("intel-rapl:0", "package-0", 1).zone("intel-rapl:1", "mystery zone", 2);
  const Discovery found = probe_powercap(tree.machine());
  ASSERT_EQ(found.devices.size(), 1u);
  const Channel* channel = channel_named(*found.devices[0].meter, "mystery zone");
  ASSERT_NE(channel, nullptr);
  EXPECT_EQ(channel->component.path(), "node/cpu/mystery-zone");
  EXPECT_EQ(channel->scope, Scope::platform);
}

TEST(Powercap, ChannelsCarryRangeUnitAndGreatestPower) {
  Tree tree;
  tree.zone("intel-rapl:0", "package-0", 1).file("/sys/class/powercap/intel-rapl:0/constraint_0_max_power_uw", "95000000\n");
  tree.zone("intel-rapl:1", "package-1", 1, 65712999613).file("/sys/class/powercap/intel-rapl:1/constraint_0_max_power_uw", "\n");
  const Discovery found = probe_powercap(tree.machine());
  ASSERT_EQ(found.devices.size(), 1u);
  const Channel& rated = *channel_named(*found.devices[0].meter, "package-0");
  EXPECT_EQ(rated.range, 262143328850u);
  EXPECT_DOUBLE_EQ(rated.unit, 1e-6);
  EXPECT_GE(to_watts(rated.max_power), 2 * 95.0);
  EXPECT_TRUE(rated.always_burns);
  const Channel& unrated = *channel_named(*found.devices[0].meter, "package-1");
  EXPECT_EQ(unrated.range, 65712999613u);
  EXPECT_GE(to_watts(unrated.max_power), 500.0);  // the largest package sold
}

// A healthy zone beside a sick one keeps its values, and the sick one has a reason for each kind of sickness.
struct Sickness {
  const char* text;
  MissingReason reason;
};
class SickZone : public ::testing::TestWithParam<Sickness> {};

TEST_P(SickZone, HarmsOnlyItself) {
  Tree tree;
  tree.zone("intel-rapl:0", "package-0", 10).zone("intel-rapl:1", "package-1", 20);
  Discovery found = probe_powercap(tree.machine());
  ASSERT_EQ(found.devices.size(), 1u);
  Meter& meter = *found.devices[0].meter;
  tree.file("/sys/class/powercap/intel-rapl:0/energy_uj", GetParam().text).file("/sys/class/powercap/intel-rapl:1/energy_uj", "21\n");
  EXPECT_EQ(read_channel(meter, "package-0").reason, GetParam().reason);
  EXPECT_EQ(read_channel(meter, "package-1").raw, 21);
  tree.file("/sys/class/powercap/intel-rapl:0/energy_uj", "12\n");
  EXPECT_EQ(read_channel(meter, "package-0").raw, 12);
}

INSTANTIATE_TEST_SUITE_P(Texts, SickZone,
                         ::testing::Values(Sickness{"", MissingReason::rubbish}, Sickness{"\n", MissingReason::rubbish},
                                           Sickness{"12x\n", MissingReason::rubbish}, Sickness{"-5\n", MissingReason::rubbish},
                                           Sickness{"1.5\n", MissingReason::rubbish}, Sickness{"1,5\n", MissingReason::rubbish},
                                           Sickness{"0x12\n", MissingReason::rubbish}, Sickness{"nan\n", MissingReason::rubbish},
                                           Sickness{"99999999999999999999999\n", MissingReason::rubbish},
                                           Sickness{"1 2\n", MissingReason::rubbish}));

// Real machines' trees.
class RecordedTree : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(sensors)) GTEST_SKIP() << "skipped: no ../shared";
  }
  const std::string sensors = JOULERY_SOURCE_DIR "/../shared/data/sensors";
};

TEST_F(RecordedTree, ADesktopWithADisabledCoreZone) {
  Discovery found = probe_powercap(Machine(sensors + "/rapl/procfs/fixtures"));
  ASSERT_EQ(found.devices.size(), 1u);
  Meter& meter = *found.devices[0].meter;
  EXPECT_THAT(component_paths(meter), UnorderedElementsAre("node/cpu/package-0", "node/cpu/package-0/core", "node/cpu/package-10"));
  EXPECT_EQ(read_channel(meter, "package-0").raw, 240422366267);
  EXPECT_EQ(read_channel(meter, "package-0/core").raw, 118821284256);  // disabled zones still count
  EXPECT_EQ(channel_named(meter, "package-0")->range, 262143328850u);
}

TEST_F(RecordedTree, AMirroredPackageIsReadOnce) {
  const Discovery found = probe_powercap(Machine(sensors + "/kepler_testdata/testdata"));
  ASSERT_EQ(found.devices.size(), 1u);
  EXPECT_THAT(component_paths(*found.devices[0].meter),
              UnorderedElementsAre("node/cpu/package-0", "node/cpu/package-0/core", "node/cpu/package-10"));
}

TEST(Powercap, WithoutZonesTheReasonDependsOnWhereWeAre) {
  Tree bare, virtual_machine, container;
  bare.file("/proc/cpuinfo", "flags\t\t: fpu vme\n");
  virtual_machine.file("/proc/cpuinfo", "flags\t\t: fpu hypervisor vme\n").file("/sys/class/dmi/id/product_name", "KVM\n");
  container.file("/.dockerenv", "");
  const std::pair<const Tree*, const char*> expectations[] = {
      {&bare, "driver is not loaded"}, {&virtual_machine, "hypervisor hides"}, {&container, "container"}};
  for (const auto& [tree, text] : expectations) {
    const Discovery found = probe_powercap(tree->machine());
    EXPECT_TRUE(found.devices.empty());
    ASSERT_EQ(found.findings.size(), 1u);
    EXPECT_FALSE(found.findings[0].found);
    EXPECT_THAT(found.findings[0].reason, HasSubstr(text));
    EXPECT_FALSE(found.findings[0].remedy.empty());
  }
}

TEST(Powercap, DramInTheWrongUnitIsTold) {
  Tree tree;
  tree.file("/proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 63\n");
  tree.zone("intel-rapl:0", "package-0", 1).zone("intel-rapl:0:0", "dram", 1);                     // 61 µJ a count
  const Discovery wrong = probe_powercap(tree.machine());
  EXPECT_THAT(finding_for(wrong, "package-0/dram")->reason, HasSubstr("15.3 µJ"));
  EXPECT_TRUE(finding_for(wrong, "package-0/dram")->readable);
  tree.zone("intel-rapl:0:0", "dram", 1, 65712999613);                                             // 15.3 µJ a count
  EXPECT_EQ(finding_for(probe_powercap(tree.machine()), "package-0/dram")->reason, "");
}

TEST(Powercap, ThePlatformInTheWrongUnitIsTold) {
  Tree tree;
  tree.file("/proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n");
  tree.zone("intel-rapl:0", "package-0", 1).zone("intel-rapl:1", "psys", 1);                        // 61 µJ a count
  EXPECT_THAT(finding_for(probe_powercap(tree.machine()), "psys")->reason, HasSubstr("whole joules"));
  tree.zone("intel-rapl:1", "psys", 1, 4294967295000000);                                           // 1 J a count
  EXPECT_EQ(finding_for(probe_powercap(tree.machine()), "psys")->reason, "");
}

}  // namespace
}  // namespace joulery
