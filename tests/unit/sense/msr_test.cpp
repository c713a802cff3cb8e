#include "sense/rapl/msr.h"

#include <gmock/gmock.h>

#include <fstream>

#include "tests/unit/sense/tree.h"

namespace joulery {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;
using namespace joulery::testing;

// The driver's file answers eight bytes at the offset of a register; a plain file with the bytes there does the same.
class Msr : public ::testing::Test {
 protected:
  void lay_cpu(int cpu, int package, int core, int die = 0) {
    const std::string topology = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    tree.file(topology + "physical_package_id", std::to_string(package))
        .file(topology + "die_id", std::to_string(die))
        .file(topology + "core_id", std::to_string(core))
        .file(path(cpu), "");
  }
  void processor(const std::string& vendor, int family, int model, const std::string& online) {
    tree.file("/proc/cpuinfo", "processor\t: 0\nvendor_id\t: " + vendor + "\ncpu family\t: " + std::to_string(family) +
                                   "\nmodel\t\t: " + std::to_string(model) + "\n");
    tree.file("/sys/devices/system/cpu/online", online + "\n");
  }
  void set(int cpu, std::uint32_t number, std::uint64_t value, std::size_t bytes = 8) {
    std::fstream file(tree.root() + path(cpu), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(number);
    file.write(reinterpret_cast<const char*>(&value), static_cast<std::streamsize>(bytes));
  }
  static std::string path(int cpu) { return "/dev/cpu/" + std::to_string(cpu) + "/msr"; }
  static double joules(Meter& meter, std::string_view name) {
    return static_cast<double>(read_channel(meter, name).raw) * channel_named(meter, name)->unit;
  }

  Tree tree;
};

constexpr std::uint32_t unit = 0x606, package = 0x611, dram = 0x619, cores = 0x639, psys = 0x64D;
constexpr std::uint32_t amd_unit = 0xC0010299, amd_core = 0xC001029A;
constexpr std::uint64_t esu_14 = 14u << 8, other_units = 0xA0003;

TEST_F(Msr, AnIntelPackageHasTheDomainsThatItAnswersFor) {
  processor("GenuineIntel", 6, 158, "0-3");
  for (int cpu = 0; cpu < 4; ++cpu) lay_cpu(cpu, cpu / 2, cpu % 2);
  for (const int cpu : {0, 2})
    set(cpu, psys, 0), set(cpu, unit, esu_14 | other_units), set(cpu, package, 16384 * 5), set(cpu, cores, 16384 * 3);
  set(0, psys, 16384 * 9);
  const Discovery found = probe_msr(tree.machine());
  ASSERT_EQ(found.devices.size(), 1u);
  Meter& meter = *found.devices[0].meter;
  EXPECT_THAT(component_paths(meter), UnorderedElementsAre("node/cpu/package-0", "node/cpu/package-0/core", "node/platform",
                                                           "node/cpu/package-1", "node/cpu/package-1/core"));
  EXPECT_DOUBLE_EQ(joules(meter, "package-0"), 5);
  EXPECT_DOUBLE_EQ(joules(meter, "package-1/core"), 3);
  EXPECT_DOUBLE_EQ(joules(meter, "psys"), 9);
  EXPECT_EQ(channel_named(meter, "package-0")->range, 0xFFFFFFFFu);
  EXPECT_EQ(channel_named(meter, "psys")->scope, Scope::platform);
}

TEST_F(Msr, Case7HaswellServersCountDramIn15MicroJoules) {
  processor("GenuineIntel", 6, 63, "0");
  lay_cpu(0, 0, 0);
  set(0, unit, esu_14), set(0, package, 1), set(0, dram, 1'000'000), set(0, dram + 8, 0);
  const Discovery found = probe_msr(tree.machine());
  ASSERT_EQ(found.devices.size(), 1u);
  EXPECT_NEAR(joules(*found.devices[0].meter, "package-0/dram"), 15.3, 0.05);
}

TEST_F(Msr, SapphireRapidsCountsThePlatformInJoules) {
  processor("GenuineIntel", 6, 143, "0");
  lay_cpu(0, 0, 0);
  set(0, unit, esu_14), set(0, package, 16384), set(0, dram, 16384), set(0, psys, 77);
  const Discovery found = probe_msr(tree.machine());
  ASSERT_EQ(found.devices.size(), 1u);
  EXPECT_DOUBLE_EQ(joules(*found.devices[0].meter, "psys"), 77);
  EXPECT_DOUBLE_EQ(joules(*found.devices[0].meter, "package-0/dram"), 1);
}

TEST_F(Msr, OnlyTheLower32BitsCount) {
  processor("GenuineIntel", 6, 158, "0");
  lay_cpu(0, 0, 0);
  set(0, unit, esu_14), set(0, package, 0xABCD'0000'0010), set(0, package + 8, 0);
  const Discovery found = probe_msr(tree.machine());
  EXPECT_EQ(read_channel(*found.devices.at(0).meter, "package-0").raw, 0x10);
}

// AMD's registers lie one beside the other, so a file shows one in the other's bytes: the unit's second byte is the core
// counter's first, and the package counter is the core counter less that byte.
TEST_F(Msr, Case8EveryCoreOfZenIsAChannelAndTheySum) {
  processor("AuthenticAMD", 25, 1, "0-4");
  for (int cpu = 0; cpu < 4; ++cpu) lay_cpu(cpu, 0, cpu);
  lay_cpu(4, 0, 0);  // the second thread of core 0
  const auto count = [&](int cpu, std::uint64_t joule) {
    set(cpu, amd_unit, 0x03, 1), set(cpu, amd_core, (joule << 16 | 0x10) + 0x100, 8), set(cpu, amd_core + 8, 0, 4);
  };
  for (int cpu = 0; cpu < 5; ++cpu) count(cpu, 100);
  const Discovery found = probe_msr(tree.machine());
  ASSERT_EQ(found.devices.size(), 2u);
  EXPECT_THAT(component_paths(*found.devices[0].meter), ElementsAre("node/cpu/package-0"));
  Meter& meter = *found.devices[1].meter;
  ASSERT_EQ(meter.channels().size(), 4u);
  const auto before = read_once(meter);
  for (int cpu = 0; cpu < 4; ++cpu) count(cpu, 101 + static_cast<std::uint64_t>(cpu));  // 1, 2, 3, 4 J
  const auto after = read_once(meter);
  double sum = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(meter.channels()[i].component.inside(Component("node/cpu/package-0/core")));
    sum += static_cast<double>(after[i].raw - before[i].raw) * meter.channels()[i].unit;
  }
  EXPECT_DOUBLE_EQ(sum, 10.0);
}

TEST_F(Msr, DiesOfIntelAreNamedAsPowercapNamesThem) {
  processor("GenuineIntel", 6, 85, "0-1");
  lay_cpu(0, 0, 0, 0), lay_cpu(1, 0, 0, 1);
  for (const int cpu : {0, 1}) set(cpu, unit, esu_14), set(cpu, package, 5), set(cpu, package + 8, 0);
  EXPECT_THAT(component_paths(*probe_msr(tree.machine()).devices.at(0).meter),
              ElementsAre("node/cpu/package-0-die-0", "node/cpu/package-0-die-1"));
}

TEST_F(Msr, ACpuThatGoesAwayHasAReason) {
  processor("GenuineIntel", 6, 158, "0");
  lay_cpu(0, 0, 0);
  set(0, unit, esu_14), set(0, package, 16384), set(0, package + 8, 0);
  const Discovery found = probe_msr(tree.machine());
  std::filesystem::resize_file(tree.root() + path(0), 0);
  EXPECT_EQ(read_channel(*found.devices.at(0).meter, "package-0").reason, MissingReason::gone);
}

TEST_F(Msr, EachObstacleHasItsReason) {
  EXPECT_THAT(probe_msr(tree.machine()).findings.at(0).remedy, HasSubstr("modprobe msr"));
  processor("GenuineIntel", 6, 158, "0");
  lay_cpu(0, 0, 0);
  EXPECT_THAT(probe_msr(tree.machine()).findings.at(0).reason, HasSubstr("refuses its RAPL registers"));
  processor("HygonGenuine", 0x17, 1, "0");
  EXPECT_THAT(probe_msr(tree.machine()).findings.at(0).reason, HasSubstr("refuses its RAPL registers"));
  processor("GenuineIntel", 5, 1, "0");
  EXPECT_THAT(probe_msr(tree.machine()).findings.at(0).reason, HasSubstr("no RAPL registers"));
  tree.mode(path(0), 0);
  EXPECT_TRUE(holds_for_ordinary_user([&] { return probe_msr(tree.machine()).findings.at(0).reason.contains("CAP_SYS_RAWIO"); }));
}

}  // namespace
}  // namespace joulery
