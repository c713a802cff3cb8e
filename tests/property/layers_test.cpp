// The laws of the layers on random machines.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "judge/make_layers.h"
#include "tests/property/random_machine.h"

namespace joulery {
namespace {

using namespace random_tree;

struct Told {
  Timeline timeline;
  Ledger ledger;
  Report report;

  explicit Told(const RandomMachine& machine)
      : timeline(timeline_of(machine)), ledger(timeline, std::nullopt, Fill::none, {{Component("node/dram"), "no meter of the memory"}}) {
    const RunFacts facts;
    const Steps steps;
    const std::optional<PowerModel> model;
    std::vector<ProcessSample> processes = {{{7, 1}, 1, "python", machine.run.end, seconds(1)}};
    report = make_report({timeline, ledger, facts, steps, processes, model, WallTime{}});
  }
};

RC_GTEST_PROP(Layers, PartsAndResidualSumToTheWhole, ()) {
  const Told told(random_machine());
  RC_ASSERT(told.report.layers.size() == 3u);
  for (const ReportLayer& layer : told.report.layers) {
    RC_ASSERT(layer.joules.has_value() == layer.residual.joules.has_value());
    if (!layer.joules) continue;
    Energy sum = layer.residual.joules->value;
    for (const ReportLayerPart& part : layer.parts)
      if (part.joules) sum += part.joules->value;
    RC_ASSERT(sum == layer.joules->value);
  }
}

RC_GTEST_PROP(Layers, WhatIsMissingHasAReasonAndWhatIsNegativeTellsWhy, ()) {
  const Told told(random_machine());
  for (const ReportLayer& layer : told.report.layers) {
    if (!layer.joules) RC_ASSERT(!layer.reason.empty() && !layer.residual.reason.empty() && layer.quality == Quality::missing);
    if (layer.residual.joules && layer.residual.joules->value < Energy{}) RC_ASSERT(!layer.residual.reason.empty());
    for (const ReportLayerPart& part : layer.parts) RC_ASSERT(part.joules.has_value() || !part.reason.empty());
    if (layer.joules) RC_ASSERT(layer.joules->low <= layer.joules->value && layer.joules->value <= layer.joules->high);
    if (const auto& left = layer.residual.joules) RC_ASSERT(left->low <= left->value && left->value <= left->high);
  }
  for (const ReportDelay& delay : told.report.delays) RC_ASSERT(delay.milliseconds.has_value() == delay.reason.empty());
}

// A wall changes nothing of what is counted where the node has a meter of its own.
RC_GTEST_PROP(Layers, AWallIsNeverAdded, ()) {
  RandomMachine machine = random_machine();
  const auto at_wall = [](const RecordedDevice& device) { return device.channels[0].component.at_wall(); };
  RandomMachine without{{}, {}, machine.run};
  for (std::size_t d = 0; d < machine.devices.size(); ++d)
    if (!at_wall(machine.devices[d])) without.devices.push_back(machine.devices[d]), without.readings.push_back(machine.readings[d]);
  const Timeline with_wall = timeline_of(machine), plain = timeline_of(without);
  const Ledger all(with_wall, std::nullopt, Fill::none, {}), less(plain, std::nullopt, Fill::none, {});
  RC_PRE(all.boundary() == Boundary::node);
  RC_ASSERT(all.counted(machine.run) == less.counted(machine.run));
}

}  // namespace
}  // namespace joulery
