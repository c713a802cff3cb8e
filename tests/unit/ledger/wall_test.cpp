// The wall in the ledger: what contains what, which boundary is counted, feeds that add up.
#include <gtest/gtest.h>

#include "ledger/ledger.h"
#include "record/memory_recording.h"

namespace joulery {
namespace {

constexpr std::int64_t origin = 1'000'000'000;
MonoTime at(double s) { return {origin + seconds(s).base_units()}; }

struct Gauge {
  std::string kind, path;
  double watts;
  bool answers = true;
};

class Machine {
 public:
  explicit Machine(const std::vector<Gauge>& gauges) : recording_(devices(gauges)) {
    for (std::size_t d = 0; d < gauges.size(); ++d)
      for (int s = 0; s <= 10; ++s) {
        const Reading reading{static_cast<std::int64_t>(gauges[d].watts * 1000),
                              gauges[d].answers ? MissingReason::none : MissingReason::timed_out, at(s), at(s)};
        recording_.add(Round{d, at(s), std::span(&reading, 1)});
      }
    recording_.set({{"run_begin_ns", std::to_string(at(0).ns)}, {"run_end_ns", std::to_string(at(10).ns)}});
    timeline_.emplace(*Timeline::from(recording_, 1));
  }
  Ledger ledger(std::vector<MissingPart> missing = {}) const { return {*timeline_, std::nullopt, Fill::automatic, std::move(missing)}; }

 private:
  static std::vector<RecordedDevice> devices(const std::vector<Gauge>& gauges) {
    std::vector<RecordedDevice> all;
    for (const Gauge& gauge : gauges) {
      Channel channel;
      channel.component = Component(gauge.path);
      channel.name = "power";
      channel.measurand = Measurand::power;
      channel.behaviour = Behaviour::gauge;
      channel.unit = 1e-3;
      channel.accuracy.relative = 0.01;
      all.push_back({gauge.kind, gauge.path, milliseconds(1000), {channel}});
    }
    return all;
  }
  MemoryRecording recording_;
  std::optional<Timeline> timeline_;
};

const Row* find(const Ledger& ledger, const std::string& path) {
  for (const Row& row : ledger.rows())
    if (row.component.path() == path) return &row;
  return nullptr;
}

const Interval run{at(0), at(10)};

TEST(Wall, ContainsTheNodeAndItsFeedsAndNothingContainsIt) {
  const Component wall("wall"), feed("wall/A"), node("node"), package("node/cpu/package-0");
  EXPECT_TRUE(wall.at_wall() && feed.at_wall() && !node.at_wall() && !Component("wallpaper").at_wall());
  EXPECT_TRUE(node.inside(wall) && package.inside(wall) && feed.inside(wall));
  EXPECT_FALSE(wall.inside(wall) || wall.inside(node) || wall.inside(feed));
  EXPECT_FALSE(node.inside(feed)) << "what one feed of several delivers to whom is not known";
}

TEST(Wall, IsShownBesideTheNodeAndNotAdded) {
  const Machine machine({{"plug", "wall", 120}, {"hwmon", "node", 100}, {"rapl", "node/cpu/package-0", 60}});
  const Ledger ledger = machine.ledger();
  EXPECT_EQ(ledger.boundary(), Boundary::node);
  EXPECT_EQ(ledger.total(run).energy->value, joules(1000));
  ASSERT_TRUE(ledger.wall() && ledger.whole_node());
  EXPECT_EQ(ledger.energy(*ledger.wall(), run).energy->value, joules(1200));
  EXPECT_EQ(ledger.energy(*ledger.whole_node(), run).energy->value, joules(1000));
  EXPECT_TRUE(find(ledger, "wall")->overlap);
  EXPECT_FALSE(find(ledger, "node/cpu/package-0")->overlap) << "a package lies inside the wall and is counted all the same";
  EXPECT_EQ(ledger.energy(*find(ledger, "node/rest"), run).energy->value, joules(400));
}

TEST(Wall, TwoFeedsAddUpWithTheirErrors) {
  const Machine machine({{"pdu", "wall/A", 70}, {"pdu", "wall/B", 50}, {"rapl", "node/cpu/package-0", 60}});
  const Ledger ledger = machine.ledger();
  const auto energy = ledger.energy(*ledger.wall(), run).energy;
  ASSERT_TRUE(energy);
  EXPECT_EQ(energy->value, joules(1200));
  // 1 % of either, and what the borders of each may hide: the errors of one make of meter add.
  const auto a = ledger.energy(*find(ledger, "wall/A"), run).energy, b = ledger.energy(*find(ledger, "wall/B"), run).energy;
  EXPECT_EQ(energy->high - energy->value, (a->high - a->value) + (b->high - b->value));
  EXPECT_EQ(ledger.total(run).energy->value, joules(600));
}

TEST(Wall, AFeedThatSaysNothingLeavesTheWallMissingWithItsName) {
  const Machine machine({{"pdu", "wall/A", 70}, {"pdu", "wall/B", 50, false}, {"rapl", "node/cpu/package-0", 60}});
  const Ledger ledger = machine.ledger();
  ASSERT_TRUE(ledger.wall());
  EXPECT_EQ(ledger.wall()->track, nullptr);
  EXPECT_EQ(ledger.wall()->reason, "feed B: no answer in time");
}

TEST(Wall, IsTheBoundaryWhereNothingOfTheNodeHasASource) {
  const Machine machine({{"plug", "wall", 120}});
  const Ledger ledger = machine.ledger({{Component("node/cpu"), "no meter of the processors"}, {Component("node/rest"), "no meter"}});
  EXPECT_EQ(ledger.boundary(), Boundary::wall);
  const Total total = ledger.total(run);
  ASSERT_TRUE(total.energy);
  EXPECT_EQ(total.energy->value, joules(1200));
  EXPECT_FALSE(total.partial) << "the wall contains what no meter tells apart";
}

TEST(Wall, AMeterOfTheWholeNodeLeavesNothingUncounted) {
  const Machine machine({{"hwmon", "node", 100}});
  const Ledger ledger = machine.ledger({{Component("node/cpu"), "no meter of the processors"}});
  const Total total = ledger.total(run);
  EXPECT_EQ(total.energy->value, joules(1000));
  EXPECT_FALSE(total.partial);
  EXPECT_TRUE(find(ledger, "node/cpu")->overlap) << "named, with its reason, but inside the rest";
}

}  // namespace
}  // namespace joulery
