#include "ledger/derived_wall.h"

#include <algorithm>
#include <cmath>

#include "ledger/power_series.h"

namespace joulery {
namespace {

constexpr std::size_t most_steps = 2'000'000;

// "node/cpu/package-0" -> "node/cpu".
std::string sort_of(const Component& component) {
  const std::string& path = component.path();
  const std::size_t first = path.find('/');
  return first == std::string::npos ? path : path.substr(0, path.find('/', first + 1));
}

Interval covered_by(const std::vector<const Row*>& rows) {
  Interval whole = rows.front()->track->covered();
  for (const Row* row : rows) {
    const Interval one = row->track->covered();
    whole = {std::max(whole.begin, one.begin), std::min(whole.end, one.end)};
  }
  return whole;
}

// The parts' own error as a share of their power: errors of one meter add, those of different meters are independent.
double relative_error(const std::vector<const Row*>& rows, const Ledger& ledger, Interval when) {
  std::map<std::string, double> by_meter;
  double value = 0, squares = 0;
  for (const Row* row : rows) {
    const Span span = ledger.energy(*row, when);
    if (!span.energy) continue;
    value += to_joules(span.energy->value);
    by_meter[row->meter] += to_joules(span.energy->high - span.energy->value);
  }
  for (const auto& [meter, error] : by_meter) squares += error * error;
  return value > 0 ? std::sqrt(squares) / value : 0;
}

}  // namespace

WallInputs wall_inputs(const Ledger& ledger) {
  WallInputs inputs;
  for (const Row& row : ledger.rows())
    if (row.track && !row.overlap && row.minus.empty() && row.quality <= Quality::integrated && !row.component.at_wall())
      inputs.rows.push_back(&row);
  if (inputs.rows.empty() && ledger.whole_node() && ledger.whole_node()->track) inputs.rows.push_back(&*ledger.whole_node());
  for (const Row* row : inputs.rows) ++inputs.sorts[sort_of(row->component)];
  return inputs;
}

DerivedWall derive_wall(const WallInputs& inputs, const Timeline& timeline, const Ledger& ledger, const WallModel& model) {
  const Interval when = covered_by(inputs.rows);
  const Grid grid = grid_over(when, std::max(timeline.interval, milliseconds(1)), most_steps);
  const std::vector<double> parts = power_series(inputs.rows, grid, {});
  const double error = relative_error(inputs.rows, ledger, timeline.run);
  auto times = std::make_unique<std::vector<MonoTime>>();
  std::vector<std::int64_t> value{0}, low{0}, high{0};
  std::vector<Gap> gaps;
  double sum = 0, below = 0, above = 0, known = 0, outside = 0;
  times->push_back(grid.begin);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Interval slot{grid.edge(i), grid.edge(i + 1)};
    if (std::isfinite(parts[i])) {
      const double microseconds = to_seconds(grid.step) * 1e6;
      const Power wall = model.at(watts(parts[i]));
      const double half = std::hypot(to_watts(model.half_interval(watts(parts[i]))), error * model.coefficients[1] * parts[i]);
      sum += std::max(0.0, to_watts(wall)) * microseconds;
      below += std::max(0.0, to_watts(wall) - half) * microseconds;
      above += std::max(0.0, to_watts(wall) + half) * microseconds;
      ++known;
      if (parts[i] < to_watts(model.least) || parts[i] > to_watts(model.most)) ++outside;
    } else if (!gaps.empty() && gaps.back().when.end == slot.begin) {
      gaps.back().when.end = slot.end;
    } else {
      gaps.push_back({slot, "a part that the model starts from is not known", true, std::nullopt});
    }
    times->push_back(slot.end);
    value.push_back(to_whole(sum));
    low.push_back(to_whole(below));
    high.push_back(to_whole(above));
  }
  Track track(*times, std::move(value), std::move(low), std::move(high), std::move(gaps));
  return {std::move(times), std::move(track), known > 0 ? outside / known : 0};
}

}  // namespace joulery
