#include "judge/make_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "judge/label.h"

namespace joulery {
namespace {

std::vector<MonoTime> slot_edges(const RunRecord& run, int slots) {
  const Interval when = run.timeline.run;
  const double interval = std::max<double>(1, static_cast<double>(run.timeline.interval.base_units()));
  const auto fitting = static_cast<std::int64_t>(static_cast<double>(when.length().base_units()) / interval);
  const std::int64_t count = std::clamp<std::int64_t>(fitting, 1, slots);
  std::vector<MonoTime> edges;
  for (std::int64_t i = 0; i <= count; ++i)
    edges.push_back(when.begin + nanoseconds(static_cast<std::int64_t>(static_cast<double>(when.length().base_units()) *
                                                                       static_cast<double>(i) / static_cast<double>(count))));
  return edges;
}

// NaN where less than half of the slot is known: a hole in the picture, not a zero.
double watts_in(const RunRecord& run, const Row& row, Interval slot) {
  const Span span = run.ledger.energy(row, slot);
  if (!span.energy || slot.empty()) return std::numeric_limits<double>::quiet_NaN();
  Duration lost = slot.length() - intersect(row.track->covered(), slot).length();
  for (const Gap& gap : row.track->gaps())
    if (gap.energy_lost) lost += intersect(gap.when, slot).length();
  if (lost / slot.length() > 0.5) return std::numeric_limits<double>::quiet_NaN();
  return to_watts(span.energy->value / (slot.length() - lost));
}

void add_step_bands(const RunRecord& run, int most, Chart& chart) {
  const auto& steps = run.steps.steps;
  const std::size_t group =
      std::max<std::size_t>(1, (steps.size() + static_cast<std::size_t>(most) - 1) / static_cast<std::size_t>(std::max(1, most)));
  const MonoTime zero = run.timeline.run.begin;
  for (std::size_t i = 0; i < steps.size(); i += group) {
    const std::size_t last = std::min(steps.size(), i + group) - 1;
    const std::string name =
        group == 1 ? fmt::format("{} {}", steps[i].name, i + 1) : fmt::format("{}s {} to {}", steps[i].name, i + 1, last + 1);
    chart.bands.push_back({"step", name, to_seconds(steps[i].when.begin - zero), to_seconds(steps[last].when.end - zero)});
  }
}

}  // namespace

Chart make_chart(const RunRecord& run, int slots, int bands) {
  Chart chart;
  const std::vector<MonoTime> edges = slot_edges(run, slots);
  const MonoTime zero = run.timeline.run.begin;
  for (const MonoTime edge : edges) chart.time.push_back(to_seconds(edge - zero));
  for (const Row& row : run.ledger.rows()) {
    if (!row.track) continue;
    PowerTrack track{row.component.path(), label_of(row.component), row.quality, row.overlap, {}};
    for (std::size_t i = 1; i < edges.size(); ++i) track.watts.push_back(watts_in(run, row, {edges[i - 1], edges[i]}));
    chart.tracks.push_back(std::move(track));
  }
  for (const Phase& phase : phases_of(run.steps.steps, run.timeline.run))
    if (phase.name != "between steps" && !phase.pieces.empty())
      chart.bands.push_back(
          {"phase", phase.name, to_seconds(phase.pieces.front().begin - zero), to_seconds(phase.pieces.back().end - zero)});
  add_step_bands(run, bands, chart);
  for (const Mark& point : run.steps.points)
    chart.bands.push_back(
        {"mark", fmt::format("{} {}", point.name, point.value), to_seconds(point.time - zero), to_seconds(point.time - zero)});
  return chart;
}

}  // namespace joulery
