#include "judge/wall_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/units.h"
#include "judge/meter_delay.h"
#include "ledger/derived_wall.h"
#include "ledger/power_series.h"

namespace joulery {
namespace {

constexpr std::size_t stretches = 10;          // held out one after the other
constexpr std::size_t wanted_windows = 40, most_windows = 20'000;
constexpr double least_range = 0.10;           // of the parts' median power: from the 5 % to the 95 % quantile
constexpr double least_slope = 0.9;            // a wall that contains the parts grows as they do, but for their meters' errors
constexpr double clearly_better = 0.9;         // the parabola's held-out error over the line's
constexpr const char* record_again =
    "record rest, half and full load several times over: joulery run -- CMD with the wall meter configured";

struct Pairs {
  std::vector<double> parts, wall;
};

double quantile(std::vector<double> values, double share) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::ranges::nth_element(values, at);
  return *at;
}

// Windows of a second, or of some readings where they are rarer; shorter where the run is, but never shorter than a reading.
Duration window_for(Interval run, Duration reading) {
  const Duration even = nanoseconds(run.length().base_units() / static_cast<std::int64_t>(wanted_windows));
  const Duration usual = std::max(milliseconds(1000), reading + reading + reading + reading);
  return std::max(std::max(reading, milliseconds(1)), std::min(usual, even));
}

Result<Pairs> pairs_of(const RunRecord& run, const WallInputs& inputs, const Row& wall, Duration delay, Duration& window) {
  const Row* const one[] = {&wall};
  window = window_for(run.timeline.run, std::max(reading_interval(inputs.rows), reading_interval(one)));
  const Grid grid = grid_over(run.timeline.run, window, most_windows);
  window = grid.step;
  const std::vector<double> x = power_series(inputs.rows, grid, {}), y = power_series(one, grid, delay);
  Pairs pairs;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (std::isfinite(x[i]) && std::isfinite(y[i])) pairs.parts.push_back(x[i]), pairs.wall.push_back(y[i]);
  if (pairs.parts.size() < 2 * stretches)
    return fail(ErrorCode::format, fmt::format("only {} stretches of time have both wall and parts", pairs.parts.size()), "", record_again);
  const double spread = quantile(pairs.parts, 0.95) - quantile(pairs.parts, 0.05);
  if (spread < least_range * quantile(pairs.parts, 0.5))
    return fail(ErrorCode::format,
                fmt::format("the parts' power hardly changes ({} around {}): no line can be drawn through one point",
                            to_text(watts(spread)), to_text(watts(quantile(pairs.parts, 0.5)))),
                "", record_again);
  return pairs;
}

bool grows_everywhere(const RobustFit& fit, double least, double most) {
  const auto slope = [&](double x) { return fit.coefficients[1] + 2 * fit.coefficients[2] * x; };
  return slope(least) > 0 && slope(most) > 0;
}

struct Chosen {
  RobustFit fit;
  CrossValidation held_out;
};

Result<Chosen> choose(const Pairs& pairs) {
  const auto line = fit_huber(pairs.parts, pairs.wall, 2);
  if (!line) return std::unexpected(line.error());
  const auto line_error = cross_validate(pairs.parts, pairs.wall, 2, stretches);
  if (!line_error)
    return fail(ErrorCode::format, "the load changes too seldom for the fit to be checked on time that it has not seen", "", record_again);
  const auto bent = fit_huber(pairs.parts, pairs.wall, 3);
  const auto bent_error = cross_validate(pairs.parts, pairs.wall, 3, stretches);
  const auto [least, most] = std::ranges::minmax_element(pairs.parts);
  if (bent && bent_error && bent_error->mean_error < clearly_better * line_error->mean_error &&
      std::abs(bent->coefficients[2]) > 3 * bent->standard_error(2) && grows_everywhere(*bent, *least, *most))
    return Chosen{*bent, *bent_error};
  return Chosen{*line, *line_error};
}

// Half of the 90 % interval of the wall meter's own reading, as a share.
double meter_error(const RunRecord& run, const Row& wall) {
  const Span span = run.ledger.energy(wall, run.timeline.run);
  if (!span.energy || span.energy->value <= Energy{}) return 0;
  return (span.energy->high - span.energy->value) / span.energy->value;
}

}  // namespace

Result<WallFit> fit_wall(const RunRecord& run, const std::string& source) {
  const auto& wall = run.ledger.wall();
  if (!wall || !wall->track || wall->quality > Quality::integrated)
    return fail(ErrorCode::unsupported,
                wall ? fmt::format("the wall was not measured: {}", wall->reason) : "no meter of the wall in this recording", source,
                "a wall meter is one whose component is \"wall\", or \"wall/NAME\" for each of several feeds");
  const WallInputs inputs = wall_inputs(run.ledger);
  if (inputs.rows.empty())
    return fail(ErrorCode::unsupported, "no part of the machine was measured beside the wall", source,
                "joulery doctor says which meters there are");
  WallFit result;
  result.delay = meter_delay(inputs.rows, *wall, run.timeline.run);
  const Duration delay = result.delay.delay ? result.delay.delay->value : Duration{};
  WallModel& model = result.model;
  const auto pairs = pairs_of(run, inputs, *wall, delay, model.window);
  if (!pairs) return fail(pairs.error().code, pairs.error().what, source, pairs.error().hint);
  const auto chosen = choose(*pairs);
  if (!chosen) return fail(chosen.error().code, chosen.error().what, source, chosen.error().hint);
  result.fit = chosen->fit;
  const auto [least, most] = std::ranges::minmax_element(pairs->parts);
  const double mean_slope = (chosen->fit.at(*most) - chosen->fit.at(*least)) / (*most - *least);
  if (mean_slope + 3 * chosen->fit.standard_error(1) < least_slope)
    return fail(ErrorCode::format,
                fmt::format("the wall grows by {:.2f} W for each watt more of the parts: it cannot contain them", mean_slope), source,
                "does this meter feed this machine, and nothing else that goes down when it works?");
  model.kind = wall_kind(run.facts.machine, run.facts.kind, inputs.sorts);
  model.coefficients = chosen->fit.coefficients;
  model.covariance = chosen->fit.covariance;
  model.stretch_error = chosen->held_out.stretch_error;
  model.mean_error = chosen->held_out.mean_error;
  model.meter_error = meter_error(run, *wall);
  model.least = watts(*least);
  model.most = watts(*most);
  model.values = static_cast<std::int64_t>(pairs->parts.size());
  model.source = fmt::format("{}, {}", source, wall->meter);
  return result;
}

}  // namespace joulery
