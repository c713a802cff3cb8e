#include "sense/powercap.h"

#include <gmock/gmock.h>

#include "tests/unit/sense/tree.h"

namespace joulery {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;
using namespace joulery::testing;

constexpr std::int64_t joule_uj = 1'000'000;

// Joules of every component that is counted, over a change of the tree.
template <class Change>
double counted_joules(Meter& meter, Change change) {
  const auto before = read_round(meter);
  change();
  const auto after = read_round(meter);
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
    tree.zone("intel-rapl:0", "package-0", 20 * seconds * joule_uj).zone("intel-rapl:0:0", "core", 12 * seconds * joule_uj)
        .zone("intel-rapl:0:1", "uncore", 3 * seconds * joule_uj).zone("intel-rapl:1", "psys", 30 * seconds * joule_uj)
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
    tree.zone("intel-rapl:0", "package-1", 10 * seconds * joule_uj).zone("intel-rapl:1", "package-0", 15 * seconds * joule_uj)
        .zone("intel-rapl:2", "psys", 40 * seconds * joule_uj).zone("intel-rapl:0:0", "dram", 0);
  };
  lay(1);
  Discovery found = probe_powercap(tree.machine());
  ASSERT_EQ(found.devices.size(), 1u);
  Meter& meter = *found.devices[0].meter;
  EXPECT_THAT(component_paths(meter), UnorderedElementsAre("node/cpu/package-0", "node/cpu/package-1", "node/platform", "node/dram/package-1"));
  EXPECT_DOUBLE_EQ(counted_joules(meter, [&] { lay(2); }), 25.0);
  EXPECT_EQ(read_channel(meter, "package-1").raw, 20 * joule_uj);
}

}  // namespace
}  // namespace joulery
