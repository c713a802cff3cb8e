#include "sense/second_ways.h"

#include <gmock/gmock.h>

#include "sense/function_meter.h"
#include "sense/obstacles.h"
#include "tests/unit/sense/tree.h"

namespace joulery {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace joulery::testing;

// A counter of microjoules that burns so many watts by the monotonic clock, from `base` on.
Device burner(const std::string& kind, const std::string& component, double watts, std::uint64_t base = 0, std::uint64_t range = 0) {
  auto meter = std::make_unique<FunctionMeter>();
  Channel channel;
  channel.component = Component(component);
  channel.name = channel.component.leaf();
  channel.unit = 1e-6;
  channel.range = range;
  meter->add(std::move(channel), [watts, base, range, begin = mono_now()] {
    const auto count = base + static_cast<std::uint64_t>(watts * to_seconds(mono_now() - begin) * 1e6);
    return static_cast<std::int64_t>(range > 0 ? count % (range + 1) : count);
  });
  return {kind, "device", false, std::move(meter)};
}

Discovery of(Device device) {
  Discovery found;
  found.findings.push_back(readable_finding(device.kind, device.meter->channels()[0].name));
  found.devices.push_back(std::move(device));
  return found;
}

// The devices and findings of two kinds after they were settled.
Discovery settled(Device first, Device second) {
  SecondWays ways;
  Discovery all = of(std::move(first)), other = of(std::move(second));
  ways.take(all);
  ways.take(other);
  for (Device& device : other.devices) all.devices.push_back(std::move(device));
  all.findings.push_back(other.findings[0]);
  ways.settle(all);
  return all;
}

TEST(SecondWays, WhatAgreesIsLeftOut) {
  const Discovery all = settled(burner("rapl.powercap", "node/cpu/package-0", 40, 12345), burner("rapl.perf", "node/cpu/package-0", 40));
  ASSERT_EQ(all.devices.size(), 1u);
  EXPECT_EQ(all.devices[0].kind, "rapl.powercap");
  EXPECT_EQ(all.findings[1].reason, "not used: rapl.powercap measures the same");
}

TEST(SecondWays, WhatDisagreesIsKeptAndTold) {
  const Discovery all = settled(burner("rapl.powercap", "node/cpu/package-0", 10), burner("rapl.perf", "node/cpu/package-0", 40));
  ASSERT_EQ(all.devices.size(), 2u);
  EXPECT_EQ(all.devices[1].kind, "rapl.perf");
  EXPECT_THAT(all.findings[1].reason, HasSubstr("disagrees with rapl.powercap (package-0 "));
  EXPECT_THAT(all.findings[0].reason, IsEmpty());
}

TEST(SecondWays, ACounterThatWrapsMeanwhileDoesNotDisagree) {
  const Discovery all = settled(burner("rapl.powercap", "node/cpu/package-0", 40, 262143328850 - 400'000, 262143328850),
                                burner("rapl.perf", "node/cpu/package-0", 40));
  EXPECT_EQ(all.devices.size(), 1u);
}

TEST(SecondWays, WhatTellsMoreIsNoSecondWay) {
  const Discovery all = settled(burner("rapl.powercap", "node/cpu/package-0", 40), burner("rapl.perf", "node/dram/package-0", 7));
  EXPECT_EQ(all.devices.size(), 2u);
  EXPECT_THAT(all.findings[1].reason, IsEmpty());
}

TEST(SecondWays, WhatStandsStillOnBothSidesAgrees) {
  EXPECT_EQ(settled(burner("rapl.powercap", "node/cpu/package-0", 0), burner("rapl.perf", "node/cpu/package-0", 0)).devices.size(), 1u);
}

// What an agent gives comes last and is never compared: it may be rounded.
Discovery with_second_hand(Device first, Device second) {
  SecondWays ways;
  Discovery all = of(std::move(first)), given;
  given.findings.push_back(readable_finding(second.kind, second.name));
  given.devices.push_back(std::move(second));
  ways.take(all);
  ways.take_second_hand(given);
  ways.settle(given);
  return given;
}

TEST(SecondWays, WhatAnotherProgramReadsIsLeftOutWhereItIsMeasuredHere) {
  for (const char* kind : {"rapl.powercap", "rapl.perf"}) {
    const Discovery given = with_second_hand(burner(kind, "node/cpu/package-0", 10), burner("rapl.powercap", "node/cpu/package-0", 40));
    EXPECT_THAT(given.devices, IsEmpty()) << kind;
    EXPECT_THAT(given.findings, IsEmpty()) << kind;
  }
}

TEST(SecondWays, ASlowDeviceOfTheSameNameIsTheSame) {
  Device slow = burner("redfish", "node", 10), given = burner("redfish", "node", 10);
  slow.slow = given.slow = true;
  EXPECT_THAT(with_second_hand(std::move(slow), std::move(given)).devices, IsEmpty());
}

// powercap with package-1 closed to this user: the agent's device has both packages.
TEST(SecondWays, ADeviceThatIsReadHereInPartIsTakenForTheRest) {
  Device whole = burner("rapl.powercap", "node/cpu/package-0", 10);
  Channel second = whole.meter->channels()[0];
  second.component = Component("node/cpu/package-1");
  second.name = "package-1";
  static_cast<FunctionMeter&>(*whole.meter).add(std::move(second), [] { return std::int64_t{1}; });
  EXPECT_EQ(with_second_hand(burner("rapl.powercap", "node/cpu/package-0", 10), std::move(whole)).devices.size(), 1u);
}

TEST(SecondWays, WhatIsMeasuredBySomebodyElseAloneIsKept) {
  const Discovery given = with_second_hand(burner("rapl.powercap", "node/cpu/package-0", 10), burner("hwmon", "node/board/soc", 4));
  EXPECT_EQ(given.devices.size(), 1u);
  EXPECT_EQ(given.findings.size(), 1u);
}

}  // namespace
}  // namespace joulery
