// What a figure of success has gained over a run and what each point of it cost: energy against accuracy.
//
// A point is a hundredth where all values lie between 0 and 1 (a percentage point of accuracy), else 1. The gain counts from the
// first value to the best; whether more or less is better is told by the figure's name.
#pragma once

#include <functional>

#include "judge/report.h"
#include "ledger/steps.h"

namespace joulery {

inline constexpr std::size_t most_kpi_points = 200;

// "more" or "less", whichever is better of a figure of this name; "" where its name does not tell.
std::string better_of(std::string_view name);

// Fills what follows from the values. `since_start`: seconds; `burnt`: joules until then, nothing where no energy is known.
void add_gain(const Kpi& kpi, const std::function<double(MonoTime)>& since_start,
              const std::function<std::optional<double>(MonoTime)>& burnt, ReportKpi& line);

}  // namespace joulery
