#include "sense/rapl/perf.h"

#include <gmock/gmock.h>

#include "sense/rapl/perf_events.h"
#include "tests/unit/sense/tree.h"

namespace joulery {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using namespace joulery::testing;

constexpr const char* units = "/sys/bus/event_source/devices/";

// A unit as the kernel describes it: type, CPUs, and events with their scale.
void lay_unit(Tree& tree, const std::string& unit, const std::string& cpus, const std::vector<std::pair<std::string, std::string>>& events,
              const std::string& scale = "2.3283064365386962890625e-10\n") {
  const std::string folder = units + unit;
  tree.file(folder + "/type", "9\n").file(folder + "/cpumask", cpus);
  for (const auto& [name, config] : events)
    tree.file(folder + "/events/" + name, config)
        .file(folder + "/events/" + name + ".scale", scale)
        .file(folder + "/events/" + name + ".unit", "Joules\n");
}

void lay_cpu(Tree& tree, int cpu, int package, int die = 0) {
  const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
  tree.file(folder + "physical_package_id", std::to_string(package) + "\n").file(folder + "die_id", std::to_string(die) + "\n");
}

std::vector<std::string> paths(const std::vector<PerfEvent>& events) {
  std::vector<std::string> all;
  for (const PerfEvent& event : events) all.push_back(event.channel.component.path());
  return all;
}

// A descriptor that gives these counts, one at each read, as a counter of perf does.
int counter(std::initializer_list<std::uint64_t> counts) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  for (const std::uint64_t count : counts) EXPECT_EQ(::write(ends[1], &count, sizeof count), static_cast<ssize_t>(sizeof count));
  ::close(ends[1]);
  return ends[0];
}

TEST(PerfEvents, OneChannelForEachEventOfEachPackage) {
  Tree tree;
  lay_unit(tree, "power", "0,18\n",
           {{"energy-pkg", "event=0x02\n"},
            {"energy-cores", "event=0x01\n"},
            {"energy-ram", "event=0x03\n"},
            {"energy-gpu", "event=0x04\n"},
            {"energy-psys", "event=0x05\n"}});
  lay_cpu(tree, 0, 1);   // CPU 0 sits in package 1
  lay_cpu(tree, 18, 0);
  const auto events = read_perf_events(tree.machine());
  EXPECT_THAT(paths(events), UnorderedElementsAre("node/cpu/package-1", "node/cpu/package-0", "node/cpu/package-1/core",
                                                  "node/cpu/package-0/core", "node/cpu/package-1/uncore", "node/cpu/package-0/uncore",
                                                  "node/dram/package-1", "node/dram/package-0", "node/platform", "node/platform-1"));
  EXPECT_EQ(events[0].type, 9u);
  EXPECT_EQ(events[0].config, 2u);
  EXPECT_EQ(events[0].cpu, 0);
  EXPECT_DOUBLE_EQ(events[0].channel.unit, 0x1p-32);
  EXPECT_EQ(events[0].channel.range, 0u);
}

TEST(PerfEvents, DiesWithCountersOfTheirOwnAreNamedAsPowercapNamesThem) {
  Tree tree;
  lay_unit(tree, "power", "0,8\n", {{"energy-pkg", "event=0x02\n"}});
  lay_cpu(tree, 0, 0, 0);
  lay_cpu(tree, 8, 0, 1);
  EXPECT_THAT(paths(read_perf_events(tree.machine())), ElementsAre("node/cpu/package-0-die-0", "node/cpu/package-0-die-1"));
}

TEST(PerfEvents, Case8EveryCoreOfZenIsAChannelAndTheySum) {
  Tree tree;
  lay_unit(tree, "power_core", "0-3\n", {{"energy-core", "event=0x01\n"}});
  for (int cpu = 0; cpu < 4; ++cpu) lay_cpu(tree, cpu, 0);
  std::vector<Channel> channels;
  std::vector<int> descriptors;
  for (const PerfEvent& event : read_perf_events(tree.machine())) {
    channels.push_back(event.channel);
    const std::uint64_t joules = static_cast<std::uint64_t>(event.cpu) + 1;  // 1, 2, 3, 4 J
    descriptors.push_back(counter({0, joules << 32}));
  }
  ASSERT_EQ(channels.size(), 4u);
  const auto meter = make_perf_meter(channels, descriptors);
  const auto before = read_once(*meter), after = read_once(*meter);
  double sum = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(channels[i].component.inside(Component("node/cpu/package-0/core")));
    sum += static_cast<double>(after[i].raw - before[i].raw) * channels[i].unit;
  }
  EXPECT_DOUBLE_EQ(sum, 10.0);
}

TEST(PerfEvents, Case17ACountIsWorthWhatTheScaleFileSays) {
  Tree tree;
  lay_unit(tree, "power", "0\n", {{"energy-pkg", "event=0x02\n"}}, "15.3e-6\n");
  const auto events = read_perf_events(tree.machine());
  ASSERT_EQ(events.size(), 1u);
  const auto meter = make_perf_meter({events[0].channel}, {counter({65628})});
  EXPECT_NEAR(static_cast<double>(read_once(*meter)[0].raw) * meter->channels()[0].unit, 1.004108, 5e-7);
}

TEST(PerfEvents, EventsInOtherUnitsOrWithoutScaleAreNotTaken) {
  Tree tree;
  lay_unit(tree, "power", "0\n", {{"energy-pkg", "event=0x02\n"}, {"energy-ram", "event=0x03\n"}, {"energy-cores", "event=0x01\n"}});
  tree.file(std::string(units) + "power/events/energy-pkg.unit", "Watts\n")
      .file(std::string(units) + "power/events/energy-ram.scale", "1,5\n");
  tree.remove(std::string(units) + "power/events/energy-cores.scale");
  EXPECT_THAT(read_perf_events(tree.machine()), IsEmpty());
}

TEST(PerfEvents, ListsAndConfigurationsAreParsedStrictly) {
  EXPECT_THAT(parse_cpu_list("0-2,8\n"), ElementsAre(0, 1, 2, 8));
  for (const char* bad : {"", "a", "3-1", "0-", "-1", "0,,1", "0-99999999"}) EXPECT_THAT(parse_cpu_list(bad), IsEmpty()) << bad;
  EXPECT_EQ(parse_event_config("event=0x05\n"), 5u);
  EXPECT_EQ(parse_event_config("event=0x02,umask=0x1"), 0x102u);
}

TEST(PerfMeter, ACounterThatGivesNothingIsGoneAndHarmsNoOther) {
  Channel one, two;
  one.name = "one", two.name = "two";
  const auto meter = make_perf_meter({one, two}, {counter({7}), counter({8, 9})});
  read_once(*meter);
  const auto round = read_once(*meter);
  EXPECT_EQ(round[0].reason, MissingReason::gone);
  EXPECT_EQ(round[1].raw, 9);
}

TEST(Perf, ARecordedTreeHasEventsThatCannotBeOpened) {
  Tree tree;
  lay_unit(tree, "power", "0\n", {{"energy-pkg", "event=0x02\n"}});
  const Discovery found = probe_perf(tree.machine());
  EXPECT_TRUE(found.devices.empty());
  ASSERT_EQ(found.findings.size(), 1u);
  EXPECT_TRUE(found.findings[0].found);
  EXPECT_FALSE(found.findings[0].readable);
  EXPECT_THAT(found.findings[0].reason, HasSubstr("recorded tree"));
}

// Whatever this machine has: a device has only channels that can be read, and what is refused has a reason.
TEST(Perf, ThisMachineIsToldWithoutGaps) {
  const Discovery found = probe_perf(Machine());
  ASSERT_FALSE(found.findings.empty());
  for (const Finding& finding : found.findings) EXPECT_NE(finding.readable, !finding.reason.empty()) << finding.device;
  for (const Device& device : found.devices)
    for (const Reading& reading : read_once(*device.meter)) EXPECT_TRUE(reading.ok());
}

TEST(Perf, WithoutTheRightTheReasonIsTheParanoidSetting) {
  if (!Machine().exists(std::string(units) + "power/type")) GTEST_SKIP() << "skipped: no `power` events here";
  const auto paranoid = Machine().read_integer("/proc/sys/kernel/perf_event_paranoid");
  if (!paranoid || *paranoid < 1) GTEST_SKIP() << "skipped: kernel.perf_event_paranoid allows everybody";
  EXPECT_TRUE(holds_for_ordinary_user([] {
    const Discovery found = probe_perf(Machine());
    return found.devices.empty() && !found.findings.empty() && found.findings[0].remedy.contains("kernel.perf_event_paranoid=0") &&
           found.findings[0].remedy.contains("cap_perfmon");
  }));
}

}  // namespace
}  // namespace joulery
