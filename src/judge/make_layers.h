// The layers of a run, from the wall to the workloads: what each holds, what its parts leave of it, and what that
// probably is. Pure.
//
// Each whole is told by a meter of its own and is taken at its own word: a residual below zero means that meters
// disagree, and is shown with its reason. Wholes are aligned by their meters' delays, over the part of the run for which
// every one of them has readings; the figures of the report outside the layers stay as they are.
//
// Invariant: in every layer the parts and the residual sum to the whole to the microjoule.
#pragma once

#include <optional>

#include "judge/make_report.h"

namespace joulery {

// Fills report.layers and report.delays; the report has its energy and processes already.
void add_layers(const RunRecord& run, Report& report);

// The wall's energy over the whole run, where a meter told it: that of the layer, and for the time that a late meter has no
// readings for, in proportion to what the parts took then; the loss in that time counts as uncertain by all of itself.
// Empty where no meter told the wall, or told only some of its time.
std::optional<Estimate> energy_at_wall(const Report& report);

}  // namespace joulery
